import type { Table } from '../table.ts'

/** OpenRouter and the gateways that sell many providers' models: OpenCode, Vercel, LiteLLM, New API. */
export const openrouter: Table = {
  name: 'openrouter',
  codes: {
    'context-overflow': ['ContextWindowExceeded', 'ContextOverflow', 'MessageOutputLength'],
    'permanent-billing': [
      'insufficient_credits',
      'insufficient_balance',
      'insufficient_funds',
      'insufficient_user_quota',
      'payment_required',
      'credits',
      'FreeUsageLimit',
      'customer_verification_required',
      'BudgetExceeded',
      'budget_exceeded',
      'ExceededBudget',
      'pre_consume_token_quota_failed',
    ],
    'unsupported-model': ['ProviderModelNotFound', 'NoSuchModel', 'UnsupportedModel', 'model_not_supported'],
  },
  generalCodes: {
    'rate-limit': ['RouterRateLimit', 'RouterRateLimitErrorBasic'],
    'permanent-auth': ['LoadAPIKey', 'Auth', 'invalid_credentials', 'token_status', 'user_suspended'],
    server: [
      'provider_unavailable',
      'do_request_failed',
      'bad_response_status_code',
      'upstream_request',
      'no_available_channel',
      'provider_returned',
      'GatewayInternalServer',
    ],
    'bad-request': ['UnsupportedParams', 'ContentPolicyViolation', 'InvalidPrompt', 'InvalidArgument', 'UnsupportedFunctionality'],
    'model-error': ['InvalidToolInput', 'InvalidToolArguments', 'NoSuchTool', 'NoObjectGenerated', 'NoContentGenerated', 'NoOutputGenerated', 'ToolCallRepair'],
  },
  says: [
    {
      class: 'affordability',
      says: [
        /\bcan only afford\b/i,
        /\brequires more credits, or fewer max_tokens\b/i,
        /\bmore credits are required to run this request\b/i,
        /\btoken capacity required\b/i,
      ],
    },
    {
      class: 'permanent-billing',
      says: [
        /\bprompt tokens limit exceeded\b/i,
        /\binsufficient (?:credits?|balance|funds|quota|account balance)\b/i,
        /\b(?:key|total|budget|monthly|weekly|daily) (?:spend(?:ing)?|budget|credit|key)?[- ]?limit exceeded\b.{0,60}\b(?:credit|key|manage|increase)/i,
        /\bbudget has been exceeded\b/i,
        /\bfree usage exceeded\b/i,
        /\bno payment method\b/i,
        /\badd (?:more )?(?:credits|funds)\b/i,
        /\bpurchase (?:more )?credits\b/i,
      ],
    },
    {
      class: 'permanent-billing',
      says: [
        /\bpayment required\b/i,
        /\bout of credits\b/i,
        /\btop[- ]?up (?:your|the) (?:balance|account|credits)\b/i,
        /\b(?:please )?recharge\b/i,
        /\bquota is not enough\b/i,
        /\bnever purchased credits\b/i,
        /\bcredits? (?:have been |has been |is |are )?(?:exhausted|depleted|used up|insufficient)\b/i,
      ],
    },
    { class: 'bad-request', says: [/\binput was flagged\b/i, /\brequires moderation\b/i] },
    {
      class: 'unsupported-model',
      says: [
        /\bno endpoints found\b/i,
        /\bno allowed providers are available\b/i,
        /\bis not a valid model\b/i,
        /\bno available channels? for model\b/i,
        /\bguardrail restrictions and data policy\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [/\btemporarily rate-limited\b/i, /\baccounts are currently limited\b/i, /\bprovider rate limit\b/i, /\bno deployments available\b/i],
    },
    {
      class: 'permanent-auth',
      says: [/\buser not found\b/i, /\bno auth credentials found\b/i, /\bno cookie auth credentials found\b/i, /\binvalid proxy server token\b/i],
    },
    {
      class: 'server',
      says: [/\bno available (?:accounts?|channels?|providers?)\b/i],
      unless: /\bfor model\b/i,
    },
  ],
  hints: [
    { class: 'bad-request', says: [/\bllm provider not provided\b/i] },
    { class: 'server', says: [/\bprovider returned (?:an )?error\b/i, /\bupstream (?:request failed|error|service)\b/i] },
  ],
}

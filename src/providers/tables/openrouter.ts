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
      says: /\bcan only afford\b|\brequires more credits, or fewer max_tokens\b|\bmore credits are required to run this request\b|\btoken capacity required\b/i,
    },
    {
      class: 'permanent-billing',
      says: /\bprompt tokens limit exceeded\b|\binsufficient (?:credits?|balance|funds|quota|account balance)\b|\b(?:key|total|budget|monthly|weekly|daily) (?:spend(?:ing)?|budget|credit|key)?[- ]?limit exceeded\b.{0,60}\b(?:credit|key|manage|increase)|\bbudget has been exceeded\b|\bfree usage exceeded\b|\bno payment method\b|\badd (?:more )?(?:credits|funds)\b|\bpurchase (?:more )?credits\b/i,
    },
    {
      class: 'permanent-billing',
      says: /\bpayment required\b|\bout of credits\b|\btop[- ]?up (?:your|the) (?:balance|account|credits)\b|\b(?:please )?recharge\b|\bquota is not enough\b|\bnever purchased credits\b|\bcredits? (?:have been |has been |is |are )?(?:exhausted|depleted|used up|insufficient)\b/i,
    },
    {
      class: 'unsupported-model',
      says: /\bno endpoints found\b|\bno allowed providers are available\b|\bis not a valid model\b|\bno available channels? for model\b|\bguardrail restrictions and data policy\b/i,
    },
    { class: 'rate-limit', says: /\btemporarily rate-limited\b|\baccounts are currently limited\b|\bprovider rate limit\b/i },
    { class: 'permanent-auth', says: /\buser not found\b|\bno auth credentials found\b|\bno cookie auth credentials found\b/i },
    { class: 'server', says: /\bno available (?:accounts?|channels?|providers?)\b|\bupstream (?:request failed|error|service)\b/i, unless: /\bfor model\b/i },
  ],
  hints: [{ class: 'server', says: /\bprovider returned (?:an )?error\b/i }],
}

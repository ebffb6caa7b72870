import type { Table } from '../table.ts'

/** OpenAI and the many that speak its protocol, Codex with its subscriptions included. */
export const openai: Table = {
  name: 'openai',
  codes: {
    'context-overflow': ['context_length_exceeded', 'context_window_exceeded', 'prompt_too_long', 'input_too_long', 'tokens_limit_reached'],
    'permanent-billing': ['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active', 'usage_not_included', 'quota_not_available'],
    'unsupported-model': ['model_not_found', 'unsupported_model', 'invalid_model', 'model_decommissioned', 'model_not_available', 'model_deprecated'],
    'bad-request': ['unsupported_parameter', 'unsupported_value', 'unknown_parameter', 'missing_required_parameter', 'invalid_function_parameters'],
  },
  generalCodes: {
    'rate-limit': ['rate_limit', 'rate_limit_exceeded', 'rate_limit_reached', 'rate_limited', 'too_many_requests', 'usage_limit_reached', 'requests', 'tokens'],
    'permanent-auth': [
      'authentication',
      'invalid_api_key',
      'incorrect_api_key',
      'invalid_authentication',
      'account_deactivated',
      'unsupported_country_region_territory',
      'token_expired',
      'token_revoked',
      'token_invalidated',
      'refresh_token_reused',
      'unauthorized',
      'permission_denied',
    ],
    server: [
      'server',
      'internal_server',
      'service_unavailable',
      'overloaded',
      'server_is_overloaded',
      'slow_down',
      'engine_overloaded',
      'upstream',
      'bad_gateway',
    ],
    'unsupported-model': ['not_found'],
    'bad-request': [
      'invalid_request',
      'bad_request',
      'invalid_parameter',
      'unprocessable_entity',
      'content_filter',
      'content_policy_violation',
      'invalid_prompt',
      'invalid_value',
      'invalid_type',
      'invalid_image',
      'string_above_max_length',
      'array_above_max_length',
    ],
    network: ['api_timeout', 'api_connection_timeout'],
    connection: ['api_connection'],
  },
  says: [
    { class: 'context-overflow', says: [/\bexceed(?:s|ed)? (?:the )?(?:model )?token limit\b/i, /\brequested token count exceeds\b/i] },
    {
      class: 'permanent-billing',
      says: [
        /\bcheck your (?:plan and )?billing\b/i,
        /\bupgrade to plus: https/i,
        /\binactive subscription\b/i,
        /\b(?:must|need to|please) subscribe\b/i,
        /\bupgrade to a paid (?:plan|account|subscription)\b/i,
        /\bpayment\b.{0,30}\b(?:past due|overdue|failed|declined)\b/i,
        /\bupdate your payment method\b/i,
        /\brequires a subscription\b/i,
        /\bplan package has expired\b/i,
        /\bsubscription (?:has )?(?:expired|lapsed)\b/i,
      ],
      unless: /RESOURCE_EXHAUSTED|ai\.google\.dev|\bai\.dev\b|retryDelay|googleapis/,
    },
    { class: 'permanent-billing', says: [/\b(?:exceeded|reached|hit)\b.{0,40}\bspend(?:ing)? (?:cap|limit)\b/i, /\bspend(?:ing)? limit exceeded\b/i] },
    {
      class: 'unsupported-model',
      says: [
        /\bthis is not a chat model\b/i,
        /\bnot have access to (?:the )?model\b/i,
        /\bnot support(?:ed)? model\b/i,
        /\bnot supported in the v1\/(?:chat\/)?completions\b/i,
      ],
    },
    { class: 'context-overflow', says: [/maximum context length\b/i] },
    { class: 'context-overflow', says: [/\bcontext (?:window|length|limit|size)\b.{0,40}\b(?:exceed|overflow|too (?:long|large|small)|is full|reached)/i] },
    { class: 'context-overflow', says: [/\bexceed(?:s|ed|ing)?\b.{0,60}\bcontext (?:window|length|limit|size)\b/i] },
    { class: 'context-overflow', says: [/\bran out of room in the model.{0,3}s context window/i] },
    { class: 'context-overflow', says: [/\binput tokens? exceeds? the configured limit\b/i] },
    { class: 'context-overflow', says: [/\brequest too large for\b/i] },
    { class: 'context-overflow', says: [/\brequest body too large for .{0,80}\bmax size\b.{0,20}\btokens/i] },
    {
      class: 'permanent-billing',
      says: [/\bexceeded your current quota, please check your plan and billing/i],
      unless: /RESOURCE_EXHAUSTED|ai\.google\.dev|\bai\.dev\b|retryDelay|googleapis/,
    },
    {
      class: 'permanent-billing',
      says: [/\bbilling hard limit has been reached\b/i, /\baccount is not active, please check your billing/i, /\bnot included in your plan\b/i],
    },
    {
      class: 'bad-request',
      says: [/\bunsupported (?:parameter|value)\b/i, /\bunrecognized request argument/i, /\bunknown parameter\b/i, /\bmissing required parameter\b/i],
    },
    {
      class: 'bad-request',
      says: [/\binvalid (?:schema|type|value|parameter)\b.{0,60}(?:\bfor\b|:)/i, /\bdoes not support (?:parameters|setting|image|the parameter|reasoning)/i],
    },
    {
      class: 'bad-request',
      says: [
        /\bmust be followed by tool messages/i,
        /\btool_calls?\b.{0,80}\bmust\b/i,
        /\bno tool (?:output|call) found for\b/i,
        /\bmust be a response to a preceding message/i,
      ],
    },
    {
      class: 'bad-request',
      says: [/\bitem\b.{0,80}\bwas provided without its required\b/i, /\bmax_tokens must be at least\b/i, /\bencrypted content .{0,60}could not be verified/i],
    },
    {
      class: 'bad-request',
      says: [
        /\bviolat(?:e|es|ing|ed) our usage polic/i,
        /\bflagged as potentially violating/i,
        /\bcontent management policy\b/i,
        /\brejected as a result of our safety system/i,
      ],
    },
    { class: 'unsupported-model', says: [/\bmodel is not supported when using\b/i, /\brequires a newer version of codex\b/i] },
    {
      class: 'permanent-auth',
      says: [
        /\bincorrect api key\b/i,
        /\bapi key (?:was )?(?:is )?(?:not|missing|invalid|expired|revoked)\b/i,
        /\bdidn.t provide an api key\b/i,
        /\bmissing bearer\b/i,
      ],
    },
    {
      class: 'permanent-auth',
      says: [
        /\b(?:token|session) (?:has been )?(?:invalidated|revoked)/i,
        /\brefresh token (?:was already used|has (?:expired|been revoked|already been used))/i,
        /\baccess token could not be refreshed/i,
      ],
    },
    {
      class: 'permanent-auth',
      says: [
        /\bcountry, region, or territory not supported\b/i,
        /\bmust be a member of an organization\b/i,
        /\borganization must be verified\b/i,
        /\bmissing scopes\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [
        /\brate limit(?:s)? (?:reached|(?:is |was |has been )?exceeded|hit|error)\b/i,
        /\brate[- ]limited\b/i,
        /\b(?:usage|session|weekly|daily|monthly|hourly|request|message|opus) limit\b.{0,20}\b(?:reached|exceeded|hit)\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [/\b(?:hit|reached|exceeded|exhausted|exceeds?)\b.{0,50}\b(?:usage|rate|session|weekly|daily|hourly|request|call rate|token rate)[- ]limits?\b/i],
    },
    {
      class: 'rate-limit',
      says: [/\btoo many (?:requests|tokens|connections|concurrent)\b/i, /\brequest rate increased too quickly\b/i],
    },
    {
      class: 'server',
      says: [
        /\b(?:model|server|service|servers|engine|system|provider|backend)\b.{0,40}\b(?:overloaded|over capacity|at capacity|experiencing high (?:demand|load|traffic))\b/i,
        /\bhigh demand\b/i,
        /\bat capacity\b/i,
      ],
    },
    {
      class: 'server',
      says: [/\bthe server had an error\b/i, /\berror occurred while processing your request\b/i, /\bserver encountered an (?:internal )?error\b/i],
    },
    {
      class: 'stream',
      says: [/\bstream closed before response/i, /\bidle timeout waiting for (?:sse|websocket)\b/i],
    },
    { class: 'stream', says: [/\bresponse stream\b.{0,20}\b(?:disconnected|closed|ended|failed)/i] },
  ],
  // What Codex puts in front of any error that comes while it reads.
  hints: [{ class: 'stream', says: [/\bstream disconnected before completion/i, /\bstream error\b/i] }],
}

import type { Table } from '../table.ts'

/** Gemini, Vertex AI, Code Assist, and gRPC, whose status names they use. */
export const google: Table = {
  name: 'google',
  codes: {
    'permanent-auth': [
      'API_KEY_INVALID',
      'API_KEY_SERVICE_BLOCKED',
      'CONSUMER_SUSPENDED',
      'SERVICE_DISABLED',
      'ACCESS_TOKEN_EXPIRED',
      'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
    ],
    'permanent-billing': ['BILLING_DISABLED'],
    'model-error': ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'],
  },
  generalCodes: {
    'rate-limit': [
      'RESOURCE_EXHAUSTED',
      'resource_exhausted_error',
      'rateLimitExceeded',
      'quotaExceeded',
      'MODEL_CAPACITY_EXHAUSTED',
      'RetryableQuota',
      'TerminalQuota',
    ],
    server: ['UNAVAILABLE', 'INTERNAL', 'DEADLINE_EXCEEDED', 'backendError', 'internalServer', 'DATA_LOSS'],
    'permanent-auth': ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'DefaultCredentials', 'invalid_grant', 'invalid_client', 'RefreshError'],
    'bad-request': ['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'OUT_OF_RANGE', 'badRequest'],
    'unsupported-model': ['NOT_FOUND'],
  },
  says: [
    { class: 'context-overflow', says: /\b(?:input )?token count\b.{0,40}\bexceeds? the (?:maximum|limit)/i },
    {
      class: 'permanent-billing',
      says: /\bbilling (?:account )?(?:is )?(?:disabled|not (?:enabled|active))|\brequires billing to be enabled\b|\bprepayment credits are depleted\b|\bfree (?:tier|trial) (?:of the gemini api )?(?:is not available|has ended)/i,
    },
    {
      class: 'permanent-auth',
      says: /\buser location is not supported\b|\bapi key not (?:valid|found)\b|\bplease pass a valid api key\b|\bcould not load the default credentials\b|\bhas not been used in project\b|\bpermission ['`"]?[\w.]{3,60}['`"]? denied\b|\bcaller does not have permission\b|\binvalid authentication credential|\breported as leaked\b|\bnot (?:currently )?eligible for gemini code assist/i,
    },
    {
      class: 'rate-limit',
      says: /\bresource (?:has been )?exhausted\b|\bquota exceeded for\b|\bexhausted your (?:capacity|daily quota|quota)\b|\bno capacity available for model\b|\bdaily (?:request )?quota\b.{0,20}\b(?:reached|exceeded|exhausted)|\bexceeded your current quota\b|\bquota (?:will )?resets?\b/i,
    },
    {
      class: 'unsupported-model',
      says: /\brequested entity was not found\b|\bis not found for api version\b|\bdon.t have access to this model\b|\bpublisher model\b.{0,160}\bnot (?:found|servable|supported)|\bis no longer available to new users\b/i,
    },
    {
      class: 'bad-request',
      says: /\bfunction call turn comes immediately after\b|\bnumber of function response parts\b|\bmissing a thought_signature|\bthought signature\b|\bunable to submit request because\b|\brequest contains an invalid argument\b|\binvalid json payload\b|\bunknown name\b.{0,80}\bcannot find field\b/i,
    },
    {
      class: 'server',
      says: /\bmodel is overloaded\b|\ban internal error (?:has )?occurred\b|\bdeadline (?:exceeded|expired before operation)|\bservice is currently unavailable\b/i,
    },
    { class: 'model-error', says: /\bmalformed function call\b/i },
    { class: 'stream', says: /\bmodel stream (?:ended|completed)\b|\bincomplete json segment\b|\binvalid (?:stream|chunk)\b/i },
  ],
}

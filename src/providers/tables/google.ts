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
    { class: 'context-overflow', says: [/\b(?:input )?token count\b.{0,40}\bexceeds? the (?:maximum|limit)/i] },
    {
      class: 'permanent-billing',
      says: [
        /\bbilling (?:account )?(?:is )?(?:disabled|not (?:enabled|active))/i,
        /\brequires billing to be enabled\b/i,
        /\bprepayment credits are depleted\b/i,
        /\bfree (?:tier|trial) (?:of the gemini api )?(?:is not available|has ended)/i,
      ],
    },
    {
      class: 'permanent-auth',
      says: [
        /\buser location is not supported\b/i,
        /\bapi key not (?:valid|found)\b/i,
        /\bplease pass a valid api key\b/i,
        /\bcould not load the default credentials\b/i,
        /\bhas not been used in project\b/i,
        /\bpermission ['`"]?[\w.]{3,60}['`"]? denied\b/i,
        /\bcaller does not have permission\b/i,
        /\binvalid authentication credential/i,
        /\breported as leaked\b/i,
        /\bnot (?:currently )?eligible for gemini code assist/i,
        /\brequires setting the google_cloud_project\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [
        /\bresource (?:has been )?exhausted\b/i,
        /\bquota exceeded for\b/i,
        /\bexhausted your (?:capacity|daily quota|quota)\b/i,
        /\bno capacity available for model\b/i,
        /\bdaily (?:request )?quota\b.{0,20}\b(?:reached|exceeded|exhausted)/i,
        /\bexceeded your current quota\b/i,
        /\bquota (?:will )?resets?\b/i,
      ],
    },
    {
      class: 'unsupported-model',
      says: [
        /\brequested entity was not found\b/i,
        /\bis not found for api version\b/i,
        /\bdon.t have access to this model\b/i,
        /\bpublisher model\b.{0,160}\bnot (?:found|servable|supported)/i,
        /\bis no longer available to new users\b/i,
        /\bnot allowed to use publisher model\b/i,
      ],
    },
    {
      class: 'bad-request',
      says: [
        /\bfunction call turn comes immediately after\b/i,
        /\bnumber of function response parts\b/i,
        /\bmissing a thought_signature/i,
        /\bthought signature\b/i,
        /\bunable to submit request because\b/i,
        /\brequest contains an invalid argument\b/i,
        /\binvalid json payload\b/i,
        /\bunknown name\b.{0,80}\bcannot find field\b/i,
        /\bshould be non-empty for object type\b/i,
        /\bmaximum allowed nesting depth\b/i,
        /\bunable to process input\b/i,
        /\bprecondition check failed\b/i,
        /\bis infeasible for\b/i,
      ],
    },
    {
      class: 'server',
      says: [
        /\bmodel is overloaded\b/i,
        /\ban internal error (?:has )?occurred\b/i,
        /(?<!context )\bdeadline (?:exceeded|expired before operation)/i,
        /\bservice is currently unavailable\b/i,
      ],
    },
    { class: 'model-error', says: [/\bmalformed function call\b/i] },
    { class: 'stream', says: [/\bmodel stream (?:ended|completed)\b/i, /\bincomplete json segment\b/i, /\binvalid (?:stream|chunk)\b/i] },
  ],
}

import type { Table } from '../table.ts'

/** Azure OpenAI and its gateways. */
export const azure: Table = {
  name: 'azure',
  codes: {
    'unsupported-model': ['DeploymentNotFound', 'OperationNotSupported', 'ModelNotFound'],
    'bad-request': ['ResponsibleAIPolicyViolation'],
  },
  generalCodes: {
    'rate-limit': ['RateLimitReached', 'NoCapacity'],
    'permanent-auth': ['PermissionDenied', 'AuthenticationFailed', 'AuthenticationTypeDisabled', 'ClientAuthentication'],
    server: ['InternalServerError', 'BackendConnectionFailure'],
  },
  says: [
    {
      class: 'unsupported-model',
      says: [
        /\bapi deployment for this resource does not exist\b/i,
        /\boperation does not work with the specified model\b/i,
        /\bspecified (?:model|deployment)\b.{0,40}\b(?:not exist|could not be found|not found)/i,
      ],
    },
    {
      class: 'permanent-auth',
      says: [
        /\baccess denied due to\b/i,
        /\bsubscription key\b.{0,40}\b(?:invalid|missing)/i,
        /\bpublic access is disabled\b/i,
        /\bprincipal .{0,60}lacks? the required data action\b/i,
        /\bazure ?cli ?credential\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [
        /\bexceeded (?:the )?(?:call|token) rate limit\b/i,
        /\bcall volume quota\b/i,
        /\brequests to the .{0,80}have exceeded\b/i,
        /\brate limit is exceeded\b/i,
      ],
    },
  ],
}

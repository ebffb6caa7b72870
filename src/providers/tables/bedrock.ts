import type { Table } from '../table.ts'

/** AWS Bedrock, and the errors of the AWS SDKs. */
export const bedrock: Table = {
  name: 'bedrock',
  codes: {
    'permanent-auth': [
      'UnrecognizedClient',
      'ExpiredToken',
      'InvalidSignature',
      'InvalidClientTokenId',
      'SignatureDoesNotMatch',
      'CredentialsProvider',
      'NoCredentials',
      'IncompleteSignature',
      'TokenRefreshRequired',
      'UnauthorizedSSOToken',
    ],
    stream: ['ModelStreamError'],
    'model-error': ['ModelError'],
    'unsupported-model': ['ResourceNotFound'],
  },
  generalCodes: {
    stream: ['EventStream'],
    'rate-limit': ['Throttling', 'Throttled', 'TooManyRequests', 'ServiceQuotaExceeded', 'ProvisionedThroughputExceeded', 'RequestLimitExceeded'],
    server: ['ServiceUnavailable', 'InternalServer', 'InternalFailure', 'ModelNotReady', 'ModelTimeout'],
    'permanent-auth': ['AccessDenied', 'NotAuthorized'],
    'bad-request': ['Validation', 'ResourceInUse', 'Conflict'],
  },
  says: [
    {
      class: 'context-overflow',
      says: [
        /\binput is too long for requested model\b/i,
        /\btoo many input tokens\b/i,
        /\binput (?:is )?too long\b/i,
        /\bexpected (?:max|maximum)length\b/i,
        /\bthe model returned the following errors:.{0,40}\btoo long\b/i,
      ],
    },
    {
      class: 'unsupported-model',
      says: [
        /\bon-demand throughput isn.{1,3}t supported\b/i,
        /\baccess to the model with the specified model id\b/i,
        /\bmodel identifier is invalid\b/i,
        /\bmodel (?:version )?has reached the end of its life\b/i,
        /\baccess to this model is not available\b/i,
        /\bmodel access is denied\b/i,
        /\buse case details have not been submitted\b/i,
        /\bmodel is not supported in (?:this|the) region\b/i,
        /\bmarked by provider as legacy\b/i,
      ],
    },
    {
      class: 'permanent-auth',
      says: [
        /\bsecurity token included in the request is (?:expired|invalid)\b/i,
        /\bcould not load credentials from any providers\b/i,
        /\bunable to locate credentials\b/i,
        /\bis not authorized to perform\b/i,
        /\btoken (?:is|has) expired\b/i,
        /\bsso session\b.{0,60}\b(?:expired|invalid)/i,
        /\bexpired token\b/i,
        /\boperation not allowed\b/i,
        /\bunsupported countries, regions\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [/\btoo many tokens\b/i, /\btoo many requests\b/i, /\bthrottl(?:ed|ing)\b/i, /\byour request rate is too high\b/i, /\brate exceeded\b/i],
      unless: /\btoo many input tokens\b/i,
    },
    {
      class: 'server',
      says: [
        /\bbedrock is unable to process your request\b/i,
        /\bthe system encountered an unexpected error during processing\b/i,
        /\bunable to process your request at this time\b/i,
      ],
    },
    {
      class: 'bad-request',
      says: [
        /\bmalformed input request\b/i,
        /\bmaximum tokens you requested exceeds?\b/i,
        /\bmust start with a user message\b/i,
        /\btoolconfig field must be defined\b/i,
        /\bnumber of toolresult blocks\b/i,
      ],
    },
  ],
}

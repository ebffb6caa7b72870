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
    stream: ['ModelStreamError', 'EventStream'],
    'model-error': ['ModelError'],
    'unsupported-model': ['ResourceNotFound'],
  },
  generalCodes: {
    'rate-limit': ['Throttling', 'Throttled', 'TooManyRequests', 'ServiceQuotaExceeded', 'ProvisionedThroughputExceeded', 'RequestLimitExceeded'],
    server: ['ServiceUnavailable', 'InternalServer', 'InternalFailure', 'ModelNotReady', 'ModelTimeout'],
    'permanent-auth': ['AccessDenied', 'NotAuthorized'],
    'bad-request': ['Validation', 'ResourceInUse', 'Conflict'],
  },
  says: [
    {
      class: 'context-overflow',
      says: /\binput is too long for requested model\b|\btoo many input tokens\b|\binput (?:is )?too long\b|\bexpected (?:max|maximum)length\b|\bthe model returned the following errors:.{0,40}\btoo long\b/i,
    },
    {
      class: 'unsupported-model',
      says: /\bon-demand throughput isn.{1,3}t supported\b|\baccess to the model with the specified model id\b|\bmodel identifier is invalid\b|\bmodel (?:version )?has reached the end of its life\b|\baccess to this model is not available\b|\bmodel access is denied\b|\buse case details have not been submitted\b|\bmodel is not supported in (?:this|the) region\b/i,
    },
    {
      class: 'permanent-auth',
      says: /\bsecurity token included in the request is (?:expired|invalid)\b|\bcould not load credentials from any providers\b|\bunable to locate credentials\b|\bis not authorized to perform\b|\btoken (?:is|has) expired\b|\bsso session\b.{0,60}\b(?:expired|invalid)|\bexpired token\b|\boperation not allowed\b/i,
    },
    {
      class: 'rate-limit',
      says: /\btoo many tokens\b|\btoo many requests\b|\bthrottl(?:ed|ing)\b|\byour request rate is too high\b|\brate exceeded\b/i,
      unless: /\btoo many input tokens\b/i,
    },
    {
      class: 'server',
      says: /\bbedrock is unable to process your request\b|\bthe system encountered an unexpected error during processing\b|\bunable to process your request at this time\b/i,
    },
    {
      class: 'bad-request',
      says: /\bmalformed input request\b|\bmaximum tokens you requested exceeds?\b|\bmust start with a user message\b|\btoolconfig field must be defined\b|\bnumber of toolresult blocks\b/i,
    },
  ],
}

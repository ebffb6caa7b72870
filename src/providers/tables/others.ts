import type { Table } from '../table.ts'

export const mistral: Table = {
  name: 'mistral',
  generalCodes: { 'rate-limit': ['service_tier_capacity_exceeded', 'capacity_exceeded'] },
  says: [
    { class: 'context-overflow', says: /\btoo large for model with \d{1,9} maximum context length\b|\bprompt contains \d{1,9} tokens\b/i },
    { class: 'rate-limit', says: /\brequests? rate limit\b|\bservice tier capacity exceeded\b|\bcapacity exceeded for this model\b/i },
    {
      class: 'bad-request',
      says: /\bexpected last role user or tool\b|\bnot the same number of function calls and responses\b|\btool call id (?:was|has|must)\b|\bunexpected role\b/i,
    },
  ],
}

export const groq: Table = {
  name: 'groq',
  codes: { 'model-error': ['tool_use_failed', 'json_validate_failed'] },
  says: [{ class: 'model-error', says: /\bfailed to (?:call a function|generate json)\b/i }],
}

export const xai: Table = {
  name: 'xai',
  says: [
    { class: 'permanent-billing', says: /\bused all available credits\b|\bdoesn.t have any credits\b|\brun out of credits\b|\bmonthly spending limit\b/i },
    { class: 'context-overflow', says: /\bmodel.{0,3}s maximum prompt length\b/i },
    { class: 'permanent-auth', says: /\bincorrect api key provided\b/i },
  ],
}

/** DeepSeek, Moonshot, Zhipu, MiniMax and DashScope: much of it in Chinese. */
export const china: Table = {
  name: 'china',
  codes: {
    'permanent-billing': ['Arrearage', 'exceeded_current_quota', 'access_terminated', 'AccountOverdueError', 'AllocationQuota.FreeTierOnly', '1113'],
    'unsupported-model': ['1211'],
    'context-overflow': ['1261'],
  },
  generalCodes: {
    'rate-limit': [
      '1302',
      '1303',
      '1305',
      '1308',
      '1310',
      'Throttling.RateQuota',
      'Throttling.AllocationQuota',
      'RateQuota',
      'limit_burst_rate',
      'limit_requests',
      'AccountQuotaExceeded',
      'RequestBurstTooFast',
    ],
    'bad-request': ['DataInspectionFailed', 'data_inspection_failed', 'InvalidParameter'],
    'permanent-auth': ['InvalidApiKey', 'AccessDenied.Unpurchased', 'invalid_authentication'],
  },
  says: [
    {
      class: 'context-overflow',
      says: /\brange of input length should be\b|\binput length (?:is )?(?:too long|exceeds)|上下文.{0,12}(?:超|过长)|(?:输入|提示).{0,12}(?:过长|超过|超出).{0,12}(?:长度|限制|token)?/i,
    },
    {
      class: 'permanent-billing',
      says: /余额不足|欠费|请充值|额度不足|额度已用(?:尽|完)|无可用资源包|\bsuspended due to insufficient balance\b|\bno resource package\b|\baccount (?:is )?in (?:arrears|good standing)\b/i,
    },
    {
      class: 'rate-limit',
      says: /速率限制|请求频率|频率过高|请求过于频繁|请求过多|并发(?:数)?(?:过高|超|达到)|使用上限|\bconcurrency (?:limit|is too high)|\breceiving too many requests\b|\bmax (?:organization )?(?:RPM|TPM|TPD|concurrency)\b|\bcurrent quota\b.{0,40}\bexceeded\b|\brequest reached\b.{0,60}\blimit\b|\bhigh frequency usage\b/i,
    },
    { class: 'unsupported-model', says: /模型(?:不存在|未找到|不支持)|不支持(?:该|此)?模型|无权(?:限)?(?:访问|使用).{0,8}模型/ },
    { class: 'permanent-auth', says: /(?:密钥|令牌|鉴权|身份验证|认证|api ?key).{0,8}(?:无效|失败|错误|过期|不正确)|无效的(?:令牌|密钥)/i },
    { class: 'server', says: /系统繁忙|服务(?:器)?繁忙|访问量过大|负载(?:过高|已饱和)|服务暂时不可用|网络错误，错误id/ },
  ],
}

/** Models on one's own machine: Ollama, llama.cpp, LM Studio, vLLM, SGLang. */
export const local: Table = {
  name: 'local',
  codes: {
    'context-overflow': ['exceed_context_size'],
    server: ['EngineDead', 'EngineCore'],
    'model-error': ['OutOfMemory', 'CUDAOutOfMemory'],
  },
  says: [
    {
      class: 'context-overflow',
      says: /\btokens?\b.{0,40}\bexceed(?:s|ed)? (?:the )?(?:maximum )?context\b|\blonger than the (?:model.{0,3}s )?(?:maximum )?(?:model|context) length\b|\btokens to keep from the initial prompt is greater\b|\bkeep the first \d{1,9} tokens when context\b|\bcontext the overflows\b|\bnot enough context\b|\bis longer than the maximum model length\b|\bno slot (?:is )?available.{0,40}context\b/i,
    },
    {
      class: 'model-error',
      says: /\bllama runner\b|\bmodel runner has unexpectedly stopped\b|\brequires more system memory\b|\bfailed to load model\b|\berror loading model\b|\bunable to load model\b|\bunable to allocate\b|\bout of memory\b|\bmodel (?:has )?crashed\b|\bfailed to allocate\b|\bunknown model architecture\b/i,
    },
    {
      class: 'unsupported-model',
      says: /\btry pulling it first\b|\bmodel ['"`]?[\w./:@-]{1,100}['"`]? not found\b|\bdoes not support (?:tools|chat|generate|embeddings|thinking|tool use|function calling)\b|\bno models? loaded\b|\bmodel is not loaded\b/i,
    },
    {
      class: 'server',
      says: /\bloading model\b|\benginecore encountered an issue\b|\bserver busy\b|\bmaximum pending requests exceeded\b|\bslot unavailable\b/i,
      unless: /\berror loading model\b/i,
    },
  ],
}

/** GitHub Copilot in editors and on the command line. */
export const copilot: Table = {
  name: 'copilot',
  codes: {
    'context-overflow': ['model_max_prompt_tokens_exceeded'],
    'permanent-billing': ['premium_quota_exceeded', 'overage_limit_reached'],
  },
  generalCodes: {
    'permanent-billing': ['quota_exceeded'],
    'rate-limit': [
      'user_weekly_rate_limited',
      'user_global_rate_limited',
      'user_model_rate_limited',
      'integration_rate_limited',
      'upstream_provider_rate_limit',
      'agent_mode_limit_exceeded',
    ],
  },
  says: [
    {
      class: 'permanent-billing',
      says: /\bquota exceeded\. upgrade\b|\byou have no quota\b|\bout of premium requests\b|\b(?:exceeded|used up|exhausted)\b.{0,40}\bpremium request(?:s)?(?: allowance)?\b|\bcopilot token usage\b/i,
    },
    { class: 'rate-limit', says: /\bexhausted this model.{0,3}s rate limit\b|\bexceeded github.{0,3}s api rate limit\b|\brate limit that restricts\b/i },
    { class: 'unsupported-model', says: /\b(?:requested )?model is not (?:supported|accessible|available)\b/i, unless: /\bunsupported (?:parameter|value)\b/i },
    {
      class: 'permanent-auth',
      says: /\b(?:not authorized|unauthorized) (?:to use|for) (?:this )?copilot\b|\bno valid (?:github )?copilot\b|\bcopilot (?:access|subscription)\b.{0,40}\b(?:denied|expired|not|disabled)|\bbad credentials\b|\btoken expired: unauthorized\b|\bfeature flagged off\b/i,
    },
    { class: 'bad-request', says: /\bresponse got filtered\b|\bfiltered by the responsible ai service\b/i },
  ],
}

/** Sentences that no sender owns. */
export const anybody: Table = {
  name: 'anybody',
  says: [
    {
      class: 'unsupported-model',
      says: /\bmodels?\b.{0,100}\b(?:does not exist|not exist|doesn.t exist|(?:is|was) not (?:found|available|supported|enabled|allowed|accessible)|has been (?:deprecated|decommissioned|retired|shut ?down)|is (?:deprecated|disabled|unavailable|no longer (?:available|supported)))\b/i,
      unless: /\bunsupported (?:parameter|value)\b|\boverloaded\b|\btemporarily\b|\btry again later\b/i,
    },
    {
      class: 'unsupported-model',
      says: /\b(?:unknown|invalid|unsupported|unrecognized) model(?: name| id| identifier)?\b|\bmodel not (?:found|exist|supported)\b|\bno access to (?:the )?model\b|\bnot have access to (?:the |this )?model\b|\bmodel[_ ]name is invalid\b/i,
    },
    {
      class: 'permanent-auth',
      says: /\binvalid api[- ]key\b|\bapi key (?:is )?(?:required|expired|disabled|not set|not configured)|\bauthentication (?:failed|required|fails)\b|\binvalid (?:access )?token\b|\bnot authenticated\b|\btoken (?:has )?expired\b|\b(?:no|missing) api[- ]key\b|\bplease (?:re-?authenticate|log ?in|sign ?in)\b/i,
    },
    {
      class: 'rate-limit',
      says: /\brate[- ]?limit/i,
      unless: /\brate limits? (?:are|is) (?:described|documented)\b|\brate-limit(?:er|ing) (?:module|config)/i,
    },
    {
      class: 'server',
      says: /\b(?:temporarily|currently|service) unavailable\b|\bbad gateway\b|\bgateway time-?out\b|\bweb server is returning an unknown error\b|\bupstream connect error\b|\binvalid or incomplete response\b|\bunknown connection issue between cloudflare\b/i,
    },
  ],
  hints: [
    { class: 'rate-limit', says: /\b(?:quota|usage limit|usage cap)\b.{0,30}\b(?:exceeded|reached|exhausted)\b|\bexceeded\b.{0,30}\bquota\b/i },
    { class: 'server', says: /\boverloaded\b|\bserver error\b|\bserver is busy\b|\bhigh traffic\b/i },
    {
      class: 'model-error',
      says: /\bdid not provide any assistant messages\b|\bempty response\b|\bno response (?:from|was)\b.{0,20}\bmodel\b|\bmodel (?:returned|produced|output)\b.{0,30}\b(?:empty|invalid|no)\b/i,
    },
  ],
}

import type { Table } from '../table.ts'

export const mistral: Table = {
  name: 'mistral',
  generalCodes: { 'rate-limit': ['service_tier_capacity_exceeded', 'capacity_exceeded'] },
  says: [
    { class: 'context-overflow', says: [/\btoo large for model with \d{1,9} maximum context length\b/i, /\bprompt contains \d{1,9} tokens\b/i] },
    { class: 'rate-limit', says: [/\brequests? rate limit\b/i, /\bservice tier capacity exceeded\b/i, /\bcapacity exceeded for this model\b/i] },
    {
      class: 'bad-request',
      says: [
        /\bexpected last role user or tool\b/i,
        /\bnot the same number of function calls and responses\b/i,
        /\btool call id (?:was|has|must)\b/i,
        /\bunexpected role\b/i,
      ],
    },
  ],
}

export const groq: Table = {
  name: 'groq',
  codes: { 'model-error': ['tool_use_failed', 'json_validate_failed'] },
  says: [{ class: 'model-error', says: [/\bfailed to (?:call a function|generate json)\b/i, /\btool call validation failed\b/i] }],
}

export const xai: Table = {
  name: 'xai',
  says: [
    {
      class: 'permanent-billing',
      says: [/\bused all available credits\b/i, /\bdoesn.t have any credits\b/i, /\brun out of credits\b/i, /\bmonthly spending limit\b/i],
    },
    { class: 'context-overflow', says: [/\bmodel.{0,3}s maximum prompt length\b/i] },
    { class: 'permanent-auth', says: [/\bincorrect api key provided\b/i] },
  ],
}

/** DeepSeek, Moonshot, Zhipu, MiniMax and DashScope: much of it in Chinese. */
export const china: Table = {
  name: 'china',
  codes: {
    'permanent-billing': ['Arrearage', 'exceeded_current_quota', 'AccountOverdueError', 'AllocationQuota.FreeTierOnly', '1113'],
    'unsupported-model': ['1211'],
    'context-overflow': ['1261', '1039'],
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
      says: [
        /\brange of input length should be\b/i,
        /\binput length (?:is )?(?:too long|exceeds)/i,
        /上下文.{0,12}(?:超|过长)/i,
        /(?:输入|提示).{0,12}(?:过长|超过|超出).{0,12}(?:长度|限制|token)?/i,
      ],
    },
    {
      class: 'permanent-billing',
      says: [
        /余额不足/i,
        /欠费/i,
        /请充值/i,
        /额度不足/i,
        /额度已用(?:尽|完)/i,
        /无可用资源包/i,
        /\bsuspended due to insufficient balance\b/i,
        /\bno resource package\b/i,
        /\baccount (?:is )?in (?:arrears|good standing)\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [
        /速率限制/i,
        /请求频率/i,
        /频率过高/i,
        /请求过于频繁/i,
        /请求过多/i,
        /并发(?:数)?(?:过高|超|达到)/i,
        /使用上限/i,
        /\bconcurrency (?:limit|is too high)/i,
        /\breceiving too many requests\b/i,
        /\bmax (?:organization )?(?:RPM|TPM|TPD|concurrency)\b/i,
        /\bcurrent quota\b.{0,40}\bexceeded\b/i,
        /\brequest reached\b.{0,60}\blimit\b/i,
        /\bhigh frequency usage\b/i,
        /\brequest frequency has been limited\b/i,
        /\ballocated quota exceeded\b/i,
      ],
    },
    { class: 'unsupported-model', says: [/模型(?:不存在|未找到|不支持)/, /不支持(?:该|此)?模型/, /无权(?:限)?(?:访问|使用).{0,8}模型/] },
    { class: 'permanent-auth', says: [/(?:密钥|令牌|鉴权|身份验证|认证|api ?key).{0,8}(?:无效|失败|错误|过期|不正确)/i, /无效的(?:令牌|密钥)/i] },
    { class: 'server', says: [/系统繁忙/, /服务(?:器)?繁忙/, /访问量过大/, /负载(?:过高|已饱和)/, /服务暂时不可用/, /网络错误，错误id/] },
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
      says: [
        /\btokens?\b.{0,40}\bexceed(?:s|ed)? (?:the )?(?:maximum )?context\b/i,
        /\blonger than the (?:model.{0,3}s )?(?:maximum )?(?:model|context) length\b/i,
        /\btokens to keep from the initial prompt is greater\b/i,
        /\bkeep the first \d{1,9} tokens when context\b/i,
        /\bcontext the overflows\b/i,
        /\bnot enough context\b/i,
        /\bis longer than the maximum model length\b/i,
        /\bno slot (?:is )?available.{0,40}context\b/i,
        /\bcannot truncate prompt\b/i,
        /\bcontext shift is disabled\b/i,
      ],
    },
    {
      class: 'model-error',
      says: [
        /\bllama runner\b/i,
        /\bmodel runner has unexpectedly stopped\b/i,
        /\brequires more system memory\b/i,
        /\bfailed to load model\b/i,
        /\berror loading model\b/i,
        /\bunable to load model\b/i,
        /\bunable to allocate\b/i,
        /\bout of memory\b/i,
        /\bmodel (?:has )?crashed\b/i,
        /\bfailed to allocate\b/i,
        /\bunknown model architecture\b/i,
        /\bencountered while running the model\b/i,
        /\bmodel (?:was )?unloaded\b/i,
        /\brendering prompt with jinja\b/i,
      ],
    },
    {
      class: 'unsupported-model',
      says: [
        /\btry pulling it first\b/i,
        /\bfunction '[\w<>-]{1,60}': not found for account\b/i,
        /\bmodel ['"`]?[\w./:@-]{1,100}['"`]? not found\b/i,
        /\bdoes not support (?:tools|chat|generate|embeddings|thinking|tool use|function calling)\b/i,
        /\bno models? loaded\b/i,
        /\bmodel is not loaded\b/i,
      ],
    },
    {
      class: 'server',
      says: [
        /\bloading model\b/i,
        /\benginecore encountered an issue\b/i,
        /\bserver busy\b/i,
        /\bmaximum pending requests exceeded\b/i,
        /\bslot unavailable\b/i,
      ],
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
      says: [
        /\bquota exceeded\. upgrade\b/i,
        /\byou have no quota\b/i,
        /\bout of premium requests\b/i,
        /\b(?:exceeded|used up|exhausted)\b.{0,40}\bpremium request(?:s)?(?: allowance)?\b/i,
        /\bexhausted your premium model quota\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [
        /\bexhausted this model.{0,3}s rate limit\b/i,
        /\bexceeded github.{0,3}s api rate limit\b/i,
        /\brate limit that restricts\b/i,
        /\bhave been rate limited\b/i,
      ],
    },
    {
      class: 'unsupported-model',
      says: [/\b(?:requested )?model is not (?:supported|accessible|available)\b/i],
      unless: /\bunsupported (?:parameter|value)\b/i,
    },
    {
      class: 'permanent-auth',
      says: [
        /\b(?:not authorized|unauthorized) (?:to use|for) (?:this )?copilot\b/i,
        /\bno valid (?:github )?copilot\b/i,
        /\bcopilot (?:access|subscription)\b.{0,40}\b(?:denied|expired|not|disabled)/i,
        /\bbad credentials\b/i,
        /\btoken expired: unauthorized\b/i,
        /\bfeature flagged off\b/i,
      ],
    },
    { class: 'bad-request', says: [/\bresponse got filtered\b/i, /\bfiltered by the responsible ai service\b/i] },
  ],
}

/** Sentences that no sender owns. */
export const anybody: Table = {
  name: 'anybody',
  says: [
    { class: 'model-error', says: [/\bmodel produced invalid content\b/i] },
    {
      class: 'unsupported-model',
      says: [
        /\bmodels?\b.{0,100}\b(?:does not exist|not exist|doesn.t exist|(?:is|was)(?: not|n't) (?:found|available|supported|enabled|allowed|accessible)|has been (?:deprecated|decommissioned|retired|shut ?down)|is (?:deprecated|disabled|unavailable|no longer (?:available|supported)))\b/i,
      ],
      unless:
        /\bunsupported (?:parameter|value)\b|\boverloaded\b|\btemporarily\b|\btry again later\b|\bpermission ['"`]?[\w.]{3,60}['"`]? denied\b|\bcountr(?:y|ies)\b/i,
    },
    {
      class: 'unsupported-model',
      says: [
        /\b(?:unknown|invalid|unsupported|unrecognized) model(?: name| id| identifier)?\b/i,
        /\bmodel not (?:found|exist|supported)\b/i,
        /\bno access to (?:the )?model\b/i,
        /\bnot have access to (?:the |this )?model\b/i,
        /\bmodel[_ ]name is invalid\b/i,
      ],
    },
    {
      class: 'permanent-auth',
      says: [
        /\binvalid api[- ]key\b/i,
        /\bapi key (?:is )?(?:required|expired|disabled|not set|not configured)/i,
        /\bauthentication (?:failed|required|fails)\b/i,
        /\binvalid (?:access )?token\b/i,
        /\bnot authenticated\b/i,
        /\btoken (?:has )?expired\b/i,
        /\b(?:no|missing) api[- ]key\b/i,
        /\bplease (?:re-?authenticate|log ?in|sign ?in)\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [/\brate[- ]limit/i],
      unless: /\brate limits? (?:are|is) (?:described|documented)\b|\brate-limit(?:er|ing) (?:module|config)/i,
    },
    {
      class: 'server',
      says: [
        /\b(?:temporarily|currently|service) unavailable\b/i,
        /\bbad gateway\b/i,
        /\bgateway time-?out\b/i,
        /\bweb server is returning an unknown error\b/i,
        /\bupstream connect error\b/i,
        /\binvalid or incomplete response\b/i,
        /\bunknown connection issue between cloudflare\b/i,
        /\bno healthy upstream\b/i,
        /\bno server is currently available\b/i,
        /\btrouble connecting to the model\b/i,
        /\bupstream (?:request timeout|timed out|idle timeout)\b/i,
      ],
    },
  ],
  hints: [
    { class: 'rate-limit', says: [/\b(?:quota|usage limit|usage cap)\b.{0,30}\b(?:exceeded|reached|exhausted)\b/i, /\bexceeded\b.{0,30}\bquota\b/i] },
    { class: 'server', says: [/\boverloaded\b/i, /\bserver error\b/i, /\bserver is busy\b/i, /\bhigh traffic\b/i] },
    {
      class: 'model-error',
      says: [
        /\b(?:empty|unparsable|malformed)\b.{0,30}\b(?:response|content|completion|output)\b/i,
        /\bcontained no choices\b/i,
        /\bno response was returned\b/i,
        /\b(?:response|output) (?:was )?(?:truncated|cut off)\b/i,
        /\b(?:hit|reached|exceeded)\b.{0,20}\b(?:output|length) (?:token )?limit\b/i,
        /\bstop reason: (?:max_tokens|length)\b/i,
        /\bdid not provide any assistant messages\b/i,
        /\bempty response\b/i,
        /\bno response (?:from|was)\b.{0,20}\bmodel\b/i,
        /\bmodel (?:returned|produced|output)\b.{0,30}\b(?:empty|invalid|no)\b/i,
      ],
    },
    { class: 'bad-request', says: [/\bbad request\W{0,6}$/i] },
    {
      class: 'permanent-auth',
      says: [
        /^(?:\W|error|api){0,12}(?:unauthorized|forbidden|access denied)\b/i,
        /\b(?:unauthorized|forbidden)\W{0,6}$/i,
        /\bauthentication error\b/i,
        /\borganization has been restricted\b/i,
        /\blogin fail/i,
      ],
    },
    {
      class: 'context-overflow',
      says: [
        /\b(?:prompt|input|context|request|conversation|messages?|payload)\b.{0,40}\b(?:too (?:long|large|big)|exceeds?|exceeded|overflow)\b.{0,60}\b(?:tokens?|length|window|context)\b/i,
        /\b(?:tokens?|context)\b.{0,40}\b(?:exceeds?|exceeded|over)\b.{0,40}\b(?:maximum|limit|window|context|allowed)\b/i,
        /\b(?:prompt|input|context|conversation|messages?) (?:is|are|was|were) too (?:long|large|big)\b/i,
      ],
      unless: /\bper (?:min(?:ute)?|second|hour|day|month)\b|\brate\b|\bquota\b|\bmax_tokens\b|\boutput tokens?\b|\bcompletion tokens?\b/i,
    },
    {
      class: 'permanent-billing',
      says: [
        /\b(?:billing|payment|credits?|balance|subscription|funds)\b.{0,40}\b(?:required|expired|exhausted|insufficient|depleted|overdue|inactive|not active|needed|too low|used up)\b/i,
        /\b(?:no|not enough|insufficient|out of|zero) (?:remaining )?(?:credits?|balance|funds)\b/i,
      ],
    },
    {
      class: 'permanent-auth',
      says: [
        /\b(?:api[- ]?key|credentials?|authentication|authorization|access token|oauth)\b.{0,40}\b(?:invalid|missing|expired|revoked|denied|required|failed|incorrect|rejected|disabled|not (?:found|valid|set|allowed|authorized|provided|configured))\b/i,
        /\b(?:invalid|missing|expired|revoked|incorrect|no valid|no) (?:api[- ]?key|credentials?|access token|auth(?:entication|orization)?)\b/i,
        /\bnot (?:authorized|permitted|allowed) to\b|\bpermission denied\b|\baccess (?:is )?denied\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [
        /\blimit\b.{0,30}\bper (?:min(?:ute)?|second|hour|day|month)\b|\bper (?:min(?:ute)?|second|hour|day|month)\b.{0,30}\blimit\b/i,
        /\bslow down\b|\bthrottl(?:e|ed|ing)\b|\b(?:limit|quota)\b.{0,40}\bresets?\b/i,
      ],
    },
    {
      class: 'bad-request',
      says: [
        /\binvalid (?:request|parameters?|arguments?|schema|payload|tool definition)\b/i,
        /\bmissing (?:a )?(?:required )?(?:parameter|field|argument)s?\b/i,
        /\b(?:request|body|schema|parameter|payload)\b.{0,20}\b(?:is|was) (?:invalid|malformed)\b/i,
      ],
    },
    {
      class: 'server',
      says: [
        /\bsomething went wrong\b/i,
        /\b(?:an )?(?:internal|unexpected) error (?:has )?(?:occurred|happened)\b/i,
        /\btry again (?:later|in a (?:few )?(?:moment|minute|while)s?)\b/i,
      ],
    },
  ],
}

/** What stands in front of providers: Cloudflare and other gateways, by what their pages say. */
export const proxies: Table = {
  name: 'proxies',
  says: [
    { class: 'rate-limit', says: [/\berror code:? 1015\b/i, /\byou are being rate limited\b/i] },
    {
      class: 'permanent-auth',
      says: [
        /\berror code:? (?:1006|1007|1008|1009|1010|1020)\b/i,
        /\benable javascript and cookies to continue\b/i,
        /\bused cloudflare to restrict access\b/i,
        /\battention required! \| cloudflare\b/i,
        /\byou have been blocked\b/i,
        /\bproxy authentication required\b/i,
      ],
    },
  ],
}

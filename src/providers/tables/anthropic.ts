import type { Table } from '../table.ts'

/** Anthropic's API, and Claude Code with its subscriptions. */
export const anthropic: Table = {
  name: 'anthropic',
  codes: {
    'permanent-billing': ['billing', 'credit_balance_too_low'],
  },
  generalCodes: {
    server: ['overloaded', 'timeout_error'],
    'context-overflow': ['request_too_large'],
    'permanent-auth': ['permission', 'oauth_token_expired', 'invalid_token'],
    'bad-request': ['invalid_request'],
  },
  says: [
    {
      class: 'context-overflow',
      says: /\bprompt is too long\b|\bexceed context limit\b|\bconversation (?:is )?too long\b|\bcontext limit reached\b|\brequest exceeds the maximum size\b/i,
    },
    {
      class: 'permanent-billing',
      says: /\bextra usage is required\b|\bout of extra usage\b|\bcredit balance (?:is )?too low\b|\bspend(?:ing)? (?:limit|cap)\b.{0,30}\b(?:reached|exceeded)|\breached (?:your|its) (?:specified )?(?:api usage limits|(?:monthly )?spend)/i,
    },
    {
      class: 'unsupported-model',
      says: /\blong context beta is not yet available\b|\bissue with the selected model\b|\bnot available (?:on|with|for) (?:your|the) [\w ]{0,20}(?:plan|subscription|tier)\b/i,
    },
    {
      class: 'permanent-auth',
      says: /\borganization has (?:been )?disabled\b|\baccount has been (?:disabled|suspended|banned)\b|\bonly authorized for use with\b|\bplease run \/login\b|\binvalid (?:x-)?api[- ]key\b/i,
    },
    {
      class: 'permanent-auth',
      says: /\boauth (?:token|authentication|session)\b.{0,40}\b(?:expired|revoked|invalid|not (?:supported|allowed))|\binvalid (?:bearer token|authentication credentials)\b|\bnot logged in\b|\bcould not resolve authentication method\b/i,
    },
    {
      class: 'rate-limit',
      says: /\bwould exceed\b.{0,40}\brate limit\b|\blimit reached\b.{0,8}\bresets?\b|\byou.{0,3}ve hit your [\w ]{0,24}limit\b|\bconcurrent connections has exceeded\b|\bapproaching usage limit\b/i,
    },
    { class: 'rate-limit', says: /\bacceleration limit\b|\bnumber of requests? has exceeded\b/i },
    {
      class: 'bad-request',
      says: /\bmax_tokens: \d{1,9} > \d{1,9}|\btool_use\b.{0,10}\bids? (?:were|was) found without|\bunexpected `?tool_use_id|\bmust be non-empty\b|\bblocks? (?:in the latest assistant message )?cannot be modified\b|\b(?:image|pdf|document)\b.{0,40}\bexceeds?\b/i,
    },
    {
      class: 'bad-request',
      says: /\bcould not process (?:image|pdf|document)\b|\bextra inputs are not permitted\b|\broles must alternate\b|\bassistant message prefill\b|\btool names must be unique\b|\binput should be\b|\bfield required\b|\bmaximum of \d{1,3} blocks with cache_control/i,
    },
    {
      class: 'bad-request',
      says: /\btool\b.{0,60}\bresponse\b.{0,40}\bexceeds maximum allowed tokens\b|\bfile content \(\d{1,9} tokens\) exceeds\b|\busage policy\b|\boutput blocked by content filtering\b/i,
    },
    { class: 'model-error', says: /\bexceeded the \d{1,9} output token maximum\b/i },
    { class: 'server', says: /^\W{0,4}overloaded\b|: ?["']?overloaded\b|\binternal server error\b|\bserver-side issue\b/i },
    {
      class: 'stream',
      says: /\bstream idle timeout\b|\bpartial response received\b|\bunhandled stop reason\b|\bclosed mid-response\b|\bresponse above may be incomplete\b|\bstream ended without\b|\brequest ended without sending any chunks\b|\bno chunks received\b|\breceived no (?:events|message_stop)|\bunexpected event order\b/i,
    },
  ],
}

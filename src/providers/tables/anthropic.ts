import type { Table } from '../table.ts'

/** Anthropic's API, and Claude Code with its subscriptions. */
export const anthropic: Table = {
  name: 'anthropic',
  codes: {
    'permanent-billing': ['billing', 'credit_balance_too_low'],
  },
  generalCodes: {
    server: ['overloaded'],
    'context-overflow': ['request_too_large'],
    'permanent-auth': ['permission', 'oauth_token_expired', 'invalid_token'],
    'bad-request': ['invalid_request'],
  },
  says: [
    {
      class: 'context-overflow',
      says: [
        /\bprompt is too long\b/i,
        /\bexceed context limit\b/i,
        /\bconversation (?:is )?too long\b/i,
        /\bcontext limit reached\b/i,
        /\brequest exceeds the maximum size\b/i,
      ],
    },
    {
      class: 'permanent-billing',
      says: [
        /\bextra usage is required\b/i,
        /\bout of extra usage\b/i,
        /\bcredit balance (?:is )?too low\b/i,
        /\bspend(?:ing)? (?:limit|cap)\b.{0,30}\b(?:reached|exceeded)/i,
        /\breached (?:your|its) (?:specified )?(?:api usage limits|(?:monthly )?spend)/i,
      ],
    },
    {
      class: 'unsupported-model',
      says: [
        /\blong context beta is not yet available\b/i,
        /\bissue with the selected model\b/i,
        /\bnot available (?:on|with|for) (?:your|the) [\w ]{0,20}(?:plan|subscription|tier)\b/i,
      ],
    },
    {
      class: 'permanent-auth',
      says: [
        /\borganization has (?:been )?disabled\b/i,
        /\baccount has been (?:disabled|suspended|banned)\b/i,
        /\bonly authorized for use with\b/i,
        /\bplease run \/login\b/i,
        /\brequest not allowed\b/i,
        /\baccount does not have access to claude\b/i,
        /\binvalid (?:x-)?api[- ]key\b/i,
      ],
    },
    {
      class: 'permanent-auth',
      says: [
        /\boauth (?:token|authentication|session)\b.{0,40}\b(?:expired|revoked|invalid|not (?:supported|allowed))/i,
        /\binvalid (?:bearer token|authentication credentials)\b/i,
        /\bnot logged in\b/i,
        /\bcould not resolve authentication method\b/i,
      ],
    },
    {
      class: 'rate-limit',
      says: [
        /\bwould exceed\b.{0,40}\brate limit\b/i,
        /\blimit reached\b.{0,8}\bresets?\b/i,
        /\byou.{0,3}ve hit your [\w ]{0,24}limit\b/i,
        /\bconcurrent connections has exceeded\b/i,
        /\bapproaching usage limit\b/i,
      ],
    },
    { class: 'rate-limit', says: [/\bacceleration limit\b/i, /\bnumber of requests? has exceeded\b/i] },
    {
      class: 'bad-request',
      says: [
        /\bmax_tokens: \d{1,9} > \d{1,9}/i,
        /\btool_use\b.{0,10}\bids? (?:were|was) found without/i,
        /\bunexpected `?tool_use_id/i,
        /\bmust be non-empty\b/i,
        /\bblocks? (?:in the latest assistant message )?cannot be modified\b/i,
        /\b(?:image|pdf|document)\b.{0,40}\bexceeds?\b/i,
      ],
    },
    {
      class: 'bad-request',
      says: [
        /\bcould not process (?:image|pdf|document)\b/i,
        /\bextra inputs are not permitted\b/i,
        /\broles must alternate\b/i,
        /\bassistant message prefill\b/i,
        /\btool names must be unique\b/i,
        /\binput should be\b/i,
        /\bfield required\b/i,
        /\bmaximum of \d{1,3} blocks with cache_control/i,
      ],
    },
    {
      class: 'bad-request',
      says: [
        /\btool\b.{0,60}\bresponse\b.{0,40}\bexceeds maximum allowed tokens\b/i,
        /\bfile content \(\d{1,9} tokens\) exceeds\b/i,
        /\boutput blocked by content filtering\b/i,
        /\btool use concurrency issues\b/i,
        /\bmust be greater than `?thinking\.budget_tokens/i,
      ],
    },
    { class: 'model-error', says: [/\bexceeded the \d{1,9} output token maximum\b/i] },
    { class: 'server', says: [/^\W{0,4}overloaded\b/i, /: ?["']?overloaded\b/i, /\binternal server error\b/i, /\bserver-side issue\b/i] },
    {
      class: 'stream',
      says: [
        /\bstream idle timeout\b/i,
        /\bpartial response received\b/i,
        /\bunhandled stop reason\b/i,
        /\bclosed mid-response\b/i,
        /\bresponse above may be incomplete\b/i,
        /\bstream ended without\b/i,
        /\brequest ended without sending any chunks\b/i,
        /\bno chunks received\b/i,
        /\breceived no (?:events|message_stop)/i,
        /\bunexpected event order\b/i,
      ],
    },
  ],
}

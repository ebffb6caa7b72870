import type { Table } from '../table.ts'
import { anthropic } from './anthropic.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { google } from './google.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { anybody, china, copilot, groq, local, mistral, proxies, xai } from './others.ts'
import { transport } from './transport.ts'

/** Every table. Their order decides nothing but which of two equal pieces of evidence is named. */
export const tables: readonly Table[] = [
  anthropic,
  openai,
  google,
  bedrock,
  azure,
  openrouter,
  mistral,
  groq,
  xai,
  china,
  local,
  copilot,
  proxies,
  transport,
  anybody,
]

import { describe } from 'vitest'
import { packedProgram } from '../test/support/bare-supervisor.ts'
import { hasProgram } from '../test/support/has-program.ts'
import { declareRunTests } from './supervisor-suite.ts'

const hasCompiler = hasProgram('cc', 'the supervisor')

describe.runIf(hasCompiler)('the supervisor', () => declareRunTests(packedProgram))

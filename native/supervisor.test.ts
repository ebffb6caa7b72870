import { describe } from 'vitest'
import { packedProgram } from '../test/support/bare-supervisor.ts'
import { hasProgram } from '../test/support/has-program.ts'
import { declareLifeTests } from './supervisor-life-suite.ts'
import { declareRunTests } from './supervisor-suite.ts'

const hasCompiler = hasProgram('cc', 'the supervisor')

describe.runIf(hasCompiler)('the supervisor and its commands', () => declareRunTests(packedProgram))
describe.runIf(hasCompiler)('the supervisor and its life', () => declareLifeTests(packedProgram))

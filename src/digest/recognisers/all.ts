import { pytest } from './pytest.ts'
import type { Recogniser } from './recogniser.ts'
import { unittest } from './unittest.ts'

/** Every recogniser; where two claim one failure, the earlier one has it. */
export const recognisers: readonly Recogniser[] = [pytest, unittest]

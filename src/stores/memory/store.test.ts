import { describeStore } from '../../../test/conformance/store.ts'
import { memoryStore } from './store.ts'

describeStore('in memory', async () => memoryStore())

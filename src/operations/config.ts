import { strictObject } from 'valibot'
import { operation } from './operation.ts'

export const config = operation({
  name: 'config',
  summary: 'Print every setting in force and where it came from.',
  description: 'Settings come from holdfast.json in the project and from one of the person.',
  input: strictObject({}),
  cli: { examples: ['holdfast config'] },
  run: (app) => app.config(),
})

import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { terraform } from './terraform.ts'

describe('the recogniser for terraform', () => {
  it.each<[string, object, string[]]>([
    [
      'terraform+make-apply',
      { errors: 1, warnings: 1 },
      ["52 local-exec provisioner error @ main.tf:2 | Error running command 'echo compiling; echo 'make: *** [all] Error 2' >&2;"],
    ],
    [
      'terraform-init',
      { errors: 2 },
      [
        '6 Failed to query available provider packages @ - | Could not retrieve the list of available versions for provider hashicorp/aws:',
        '17 Failed to query available provider packages @ - | Could not retrieve the list of available versions for provider',
      ],
    ],
    ['terraform-no-changes', {}, []],
    ['terraform-passing', {}, []],
    [
      'terraform-plan-colour',
      { errors: 2 },
      [
        '6 Resource precondition failed @ main.tf:17 | │ A name has more than three characters.',
        '16 Unable to find remote state @ main.tf:23 | │ No stored state was found for the given workspace in the given backend.',
      ],
    ],
    ['terraform-valid', {}, []],
    [
      'terraform-validate',
      { errors: 3 },
      [
        '2 Reference to undeclared input variable @ main.tf:10 | An input variable with the name "regoin" has not been declared. Did you mean',
        '10 Incorrect value type @ main.tf:11 | Invalid expression value: a number is required.',
        '17 Reference to undeclared resource @ main.tf:16 | A managed resource "terraform_data" "sever" has not been declared in the root',
      ],
    ],
    [
      'terraform-variables',
      { errors: 2 },
      [
        '2 No value for required variable @ main.tf:1 | The root module input variable "size" is not set, and has no default value.',
        '11 No value for required variable @ main.tf:9 | The root module input variable "name" is not set, and has no default value.',
      ],
    ],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(terraform, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains an error by what it says, the values, its place and the source', () => {
    const [failed] = recogniseWith(terraform, sample('terraform-plan-colour'))?.failures ?? []
    expect(failed?.details.map(({ text }) => text.replace(/^│ */, ''))).toEqual([
      'A name has more than three characters.',
      '│ var.name is "ab"',
      'on main.tf line 17, in resource "terraform_data" "disk":',
      '17:       condition     = length(var.name) > 3',
    ])
  })

  it('has warnings and what was done', () => {
    expect(recogniseWith(terraform, sample('terraform+make-apply'))?.warnings.map(({ text }) => text)).toEqual(['Warning: Check block assertion failed'])
    expect(recogniseWith(terraform, sample('terraform-passing'))?.totals.map(({ text }) => text)).toEqual([
      'Plan: 1 to add, 0 to change, 0 to destroy.',
      'Apply complete! Resources: 1 added, 0 changed, 0 destroyed.',
    ])
  })

  it('leaves errors of programs that stand beside it alone', () => {
    const log =
      'Plan: 1 to add, 0 to change, 0 to destroy.\n\nError: Cannot find module x\n    at Function (a.js:1:2)\n---- a stdout ----\nError: no connection\n\n'
    expect(recogniseWith(terraform, log)?.failures).toEqual([])
  })
})

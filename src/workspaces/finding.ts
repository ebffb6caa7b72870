/** One thing that was looked at, or that is wrong. */
export interface Finding {
  /** The same whenever it is looked at: by it the thing is repaired. */
  readonly name: string
  readonly status: 'ok' | 'warning' | 'failed'
  /** One sentence, without a full stop. */
  readonly detail: string
  /** What repairing it would do; null where nothing is repaired, because it would be a guess, or somebody else's to decide. */
  readonly fix: string | null
}

/** With what repairs it. */
export interface Repairable extends Finding {
  /** Looks again before it does anything, and resolves to what was done, in words. */
  readonly repair?: (() => Promise<string>) | undefined
  /** The workspace whose history tells of the repair. */
  readonly workspace?: { readonly id: string; readonly key: string } | undefined
}

export const fine = (name: string, detail: string): Repairable => ({ name, status: 'ok', detail, fix: null })

export const problem = (name: string, detail: string, more: Partial<Pick<Repairable, 'status' | 'fix' | 'repair' | 'workspace'>> = {}): Repairable => ({
  name,
  status: 'warning',
  detail,
  fix: null,
  ...more,
})

import type { RunResult } from '../../app/api.ts'
import { pin, unpin } from '../../operations/pin.ts'
import { show } from '../../operations/show.ts'
import { stop } from '../../operations/stop.ts'
import { wait } from '../../operations/wait.ts'
import { commandFor, perform, shown } from './command.ts'
import { exitOfRun } from './exit-codes.ts'
import { openLiveLine } from './live-line.ts'
import { print, sayThatItGoesOn } from './print.ts'

/** What is done with one run. */

const digestOf = shown<RunResult>((run) => run.digest)

export const waitCommand = commandFor(wait, 'wait', 'Run commands', {
  details: [wait.description, 'Ctrl-C ends the waiting alone. The exit status is that of exec, whoever started the run; 0 while it goes on.'],
  async run(invocation) {
    const { stderr, parsed } = invocation
    // What the run prints goes to its holder, so that the line tells the time alone.
    const live = stderr.isTerminal ? openLiveLine(stderr, `waiting for ${parsed.input.run ?? 'a run'}`) : undefined
    let run: RunResult
    try {
      run = await perform(wait, invocation, parsed.input)
    } finally {
      live?.close()
    }
    print(invocation, run, digestOf)
    sayThatItGoesOn(invocation, run)
    return exitOfRun(run)
  },
})

export const stopCommand = commandFor(stop, 'stop', 'Run commands', { present: digestOf })

export const showCommand = commandFor(show, 'show', 'Read what they printed', { present: digestOf })

export const pinCommand = commandFor(pin, 'pin', 'Look after it', { present: shown<RunResult>((run) => `Pinned ${run.id}.`) })

export const unpinCommand = commandFor(unpin, 'unpin', 'Look after it', { present: shown<RunResult>((run) => `Unpinned ${run.id}.`) })

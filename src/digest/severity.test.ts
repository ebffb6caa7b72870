import { describe, expect, it } from 'vitest'
import { continues, judge, severities } from './severity.ts'

const said = (line: string): string => Object.entries(severities).find(([, value]) => value === judge(line).severity)?.[0] ?? ''

describe('judging a line', () => {
  it.each([
    ["src/app.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'."],
    ['src/app.ts:12:5 - error TS2304: Cannot find name foo.'],
    ['main.c:7:3: error: expected expression before } token'],
    ['main.c:(.text+0x1c): undefined reference to `foo`'],
    ["#     Error:  Can't locate Foo/Bar.pm in @INC (you may need to install the Foo::Bar module)"],
    ['error[E0382]: borrow of moved value: `v`'],
    ["thread 'main' panicked at src/main.rs:4:5:"],
    ['panic: runtime error: index out of range [3] with length 3'],
    ["NameError: name 'Github' is not defined"],
    ['Caused by: java.lang.IllegalStateException: no bean'],
    ['Exception in thread "main" java.lang.NullPointerException'],
    ['[ERROR] /src/Foo.java:[71,65] cannot find symbol'],
    ['##[error]internal/lang/functions.go:176:17: func x is unused (U1000)'],
    ["2024-01-02T10:11:12Z ERROR worker: ENOENT: no such file or directory, open '/x'"],
    ['bash: line 3: foo: command not found'],
    ["make: *** No rule to make target 'x', needed by 'all'.  Stop.", 'summary'],
    ['tar: /mnt/x: No space left on device'],
    ['fatal: not a git repository (or any of the parent directories): .git'],
    ['error: linker `cc` not found'],
    ["Error: Cannot find module 'left-pad'"],
    ['TypeError: Cannot read properties of undefined (reading x)'],
    ['Uncaught ReferenceError: x is not defined'],
    ['E       ModuleNotFoundError: No module named foo'],
  ])('%s names a cause', (line, otherwise = 'cause') => {
    expect(said(line)).toBe(otherwise)
  })

  it.each([
    ['--- FAIL: TestCloud_applyBasic (0.01s)'],
    ['FAIL src/sum.test.ts > adds'],
    ['FAILED tests/test_x.py::test_a - assert 1 == 2'],
    ['not ok 3 - parses the header'],
    ['Unhandled TYPE-ERROR in thread #<SB-THREAD:THREAD "main thread" RUNNING'],
    ["arm-none-eabi/bin/ld: region `FLASH' overflowed by 1284 bytes"],
    ['UVM_ERROR tb/scoreboard.sv(212) @ 1174691 ns: env.scb [SCB_MISMATCH] data differs'],
    ['  ✗ adds two numbers'],
    ['  ● suite › adds two numbers'],
    ['LogDifferTest > testGithubParsing() FAILED'],
    ['test tests::it_works ... FAILED'],
    ['E   assert 1 == 2'],
    ['npm ERR! something odd'],
    ['ERROR: step two did not end well'],
    ['level=error msg="connection lost"'],
    ['{"level":"error","msg":"it broke"}'],
    ['Traceback (most recent call last):'],
  ])('%s is a failure', (line) => {
    expect(said(line)).toBe('failure')
  })

  it.each([
    ['[INFO] BUILD FAILURE'],
    ['Tests run: 5, Failures: 1, Errors: 0, Skipped: 0'],
    ['Tests  2 failed | 10 passed (12)'],
    ['make: *** [Makefile:24: staticcheck] Error 1'],
    ['##[error]Process completed with exit code 2.'],
    ['error: aborting due to 2 previous errors'],
    ['Found 3 errors in 2 files.'],
  ])('%s sums up', (line) => {
    expect(said(line)).toBe('summary')
  })

  it.each([
    ['0 errors, 0 warnings'],
    ['Tests run: 12, Failures: 0, Errors: 0, Skipped: 3'],
    ['errors: 0'],
    ['found 0 vulnerabilities'],
    ['[ 12%] Building C object src/error_handler.c.o'],
    ['cc -c src/error_handler.c -o build/error_handler.o'],
    ['running go test --fail-fast ./...'],
    ['✓ shows an error when the name is missing'],
    ['ok 12 - fails on bad input'],
    ['test parse_error ... ok'],
    ['--- PASS: TestError (0.00s)'],
    ['PASS src/errors.test.ts'],
    ['  echo "ERROR: go.mod is not up to date"'],
    ['INFO retrying after error in the last call'],
    ['[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.'],
    ['npm ERR! A complete log of this run can be found in: /x/.npm/_logs/x.log'],
    ['no errors'],
    ['all good'],
  ])('%s says nothing about a failure', (line) => {
    expect(said(line)).toBe('none')
  })

  it.each([['WARNING: this is deprecated'], ['npm warn deprecated foo@1.0.0: use bar'], ['src/a.c:3:1: warning: unused variable x'], ['[WARN] low disk']])(
    '%s is a warning',
    (line) => {
      expect(said(line)).toBe('warning')
    },
  )

  it('knows what goes on with a headline', () => {
    expect(continues('java.io.IOException: x', '\tat a.B.c(B.java:1)')).toBe(true)
    expect(continues('error: x', ' --> src/main.rs:1:1')).toBe(true)
    expect(continues('AssertionError', 'expected 1')).toBe(true)
    expect(continues('error: x', 'Compiling serde v1')).toBe(false)
  })
})

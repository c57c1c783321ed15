import { type Browser, chromium } from 'playwright-core'
import { atEnd } from './cleanup.ts'
import { lacks, programOf } from './requirements.mjs'

/** Why specs that need a browser are skipped; false when Chromium is installed. */
export const withoutChromium = lacks('Chromium')

/** Keeps Chromium from connecting to services of its vendor. */
const ARGUMENTS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'.split(
    ' ',
  )

/**
 * Milliseconds that a browser may take to start, and a page to show what a spec waits for: the machine may be
 * busy with others. Shorter than a file may take, so that the message says what was awaited.
 */
export const PATIENT_MS = 90_000

let shared: Promise<Browser> | undefined

/** The browser of the current file: one process, which ends with the file. */
export const launchChromium = (): Promise<Browser> => {
  if (shared !== undefined) return shared
  const launched = chromium.launch({
    executablePath: programOf('Chromium')!,
    args: ARGUMENTS,
    timeout: PATIENT_MS,
  })
  shared = launched
  atEnd(async () => {
    shared = undefined
    await (await launched).close()
  })
  return launched
}

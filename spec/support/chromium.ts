import { type Browser, chromium } from 'playwright-core'
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
 * busy with others.
 */
export const PATIENT_MS = 120_000

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: programOf('Chromium')!, args: ARGUMENTS, timeout: PATIENT_MS })

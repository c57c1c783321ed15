import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
)

/** Why specs that need a browser are skipped; false when Chromium is installed. */
export const withoutChromium = executablePath === undefined && 'needs Chromium: apt-get install chromium'

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
  chromium.launch({ executablePath: executablePath!, args: ARGUMENTS, timeout: PATIENT_MS })

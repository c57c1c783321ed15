import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes of a commit, a tree or a tag: git holds each of them in memory as a whole, also to serve it. */
const LARGEST_NODE = 16 * 1024 * 1024

/**
 * Runs when all objects of a push are in git's quarantine and no ref has changed. Invariant: what a push unpacks to is
 * bounded, however well it is compressed. A delta counts with its own size, and what it makes must not be too large either.
 */
const HOOK = `#!/bin/sh
# Written by Allot. It refuses a push whose objects are too large when they are unpacked.
[ -n "$GIT_QUARANTINE_PATH" ] || exit 0
unset GIT_ALTERNATE_OBJECT_DIRECTORIES
export GIT_NO_REPLACE_OBJECTS=1
{
  git cat-file --batch-all-objects --unordered \\
    --batch-check='%(objecttype) %(objectsize) %(objectsize:disk) %(deltabase)' || echo failed
} | awk '
  function refuse(why) { print why; isRefused = 1; exit 1 }
  BEGIN { push = ENVIRON["ALLOT_LARGEST_PUSH"] + 0; node = ENVIRON["ALLOT_LARGEST_NODE"] + 0 }
  $1 == "failed" { refuse("the objects of this push could not be checked: try again") }
  $1 != "blob" && $2 > node { refuse("a " $1 " of this push is larger than " node " bytes") }
  { sum += ($4 ~ /^0+$/) ? $2 : $3 }
  push > 0 && (sum > push || $2 > push) { refuse("unpacked, this push exceeds maximum allowed size of " push " bytes") }
  END { if (isRefused) exit 1 }
' >&2
`

export interface PushCheck {
  /** The configuration that makes git run the check. */
  config(): Promise<readonly string[]>
  /** What the check reads. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * @param directory where the hook is written, when it is first needed
 * @param largestPush bytes; undefined: any number, and only commits, trees and tags are bounded
 */
export const createPushCheck = (directory: string, largestPush: number | undefined): PushCheck => {
  const folder = join(directory, 'hooks')
  let written: Promise<void> | undefined
  return {
    async config() {
      written ??= writeHook(folder).catch((error) => {
        written = undefined
        throw error
      })
      await written
      return [`core.hooksPath=${folder}`]
    },
    env: { ALLOT_LARGEST_NODE: String(LARGEST_NODE), ALLOT_LARGEST_PUSH: String(largestPush ?? 0) },
  }
}

/** Several processes may do so at once, while git runs the one before. */
const writeHook = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true })
  const unfinished = join(folder, `pre-receive.${process.pid}`)
  await writeFile(unfinished, HOOK, { mode: 0o755 })
  await rename(unfinished, join(folder, 'pre-receive'))
}

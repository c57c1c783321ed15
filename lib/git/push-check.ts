import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes of a commit, a tree or a tag: git holds each of them in memory as a whole, also when it serves them. */
const MAX_NODE_BYTES = 16 * 1024 * 1024

/**
 * A pre-receive hook: runs when all objects of a push are in git's quarantine and no reference has changed. Invariant: the
 * unpacked size of a push is bounded, however well it is compressed. A delta counts with its own size, and the object that
 * it makes must not exceed the limit either.
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
  BEGIN { push = ENVIRON["ALLOT_MAX_PUSH_SIZE"] + 0; node = ENVIRON["ALLOT_MAX_NODE_SIZE"] + 0 }
  $1 == "failed" { refuse("the objects of this push could not be checked: try again") }
  $1 != "blob" && $2 > node { refuse("a " $1 " of this push is larger than " node " bytes") }
  { sum += ($4 ~ /^0+$/) ? $2 : $3 }
  push > 0 && (sum > push || $2 > push) { refuse("unpacked, this push exceeds maximum allowed size of " push " bytes") }
  END { if (isRefused) exit 1 }
' >&2
`

/** Limits the unpacked size of pushes. */
export interface PushCheck {
  /** Settings that make git run the hook; writes the hook at the first call. */
  config(): Promise<readonly string[]>
  /** Environment variables that the hook reads. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * @param directory of the repositories, for the hook
 * @param maxPushBytes undefined: only commits, trees and tags are limited
 */
export const createPushCheck = (directory: string, maxPushBytes: number | undefined): PushCheck => {
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
    env: { ALLOT_MAX_NODE_SIZE: String(MAX_NODE_BYTES), ALLOT_MAX_PUSH_SIZE: String(maxPushBytes ?? 0) },
  }
}

/** By a rename: several servers may write it at the same time, while git runs the previous one. */
const writeHook = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true })
  const unfinished = join(folder, `pre-receive.${process.pid}`)
  await writeFile(unfinished, HOOK, { mode: 0o755 })
  await rename(unfinished, join(folder, 'pre-receive'))
}

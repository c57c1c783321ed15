import { randomBytes, randomUUID } from 'node:crypto'
import { access, constants, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Duplex } from 'node:stream'
import { inflateSync } from 'node:zlib'
import { ifMissing, makeFolder } from '../disk.ts'
import { AllotError } from '../errors.ts'
import { sizeOf } from './folders.ts'
import { MAX_HEADER_LINES, MAX_NAME, positionsIn } from './objects/parse.ts'

/**
 * Git's words for a push beyond `receive.maxInputSize`, which the hook uses, too: the API answers 413 to
 * them.
 */
export const EXCEEDS_SIZE = 'exceeds maximum allowed size'

/** Codes of the answer to the hook; a sentence follows a refusal. */
const [STORE_IT, REFUSE_IT, CHECK_IT] = [0, 1, 2]

/**
 * Bytes of a tree, and of a commit or a tag: git holds each of them in memory as a whole, also when it serves
 * them.
 */
const [MAX_TREE, MAX_TEXT] = [16 * 1024 * 1024, 1024 * 1024]

/** Bytes of a path: Linux takes no longer ones. */
const MAX_PATH = 4096

/**
 * A pre-receive hook: runs when all objects of a push are in git's quarantine and no reference has changed.
 * Invariants: the unpacked size of a push is bounded, however well it is compressed, where a delta counts
 * with its own size, and the object that it makes must not exceed the limit either; commits, tags and names
 * have the lengths that people need. Paths are those that git finds first to each new object. The server has
 * the last word; it is asked first, too, since it checks a few small objects faster than these commands do.
 *
 * `awk` knows lines, and some cannot hold a NUL. So a NUL of a commit becomes another character; in trees,
 * where each name ends with one, it changes places with the line feed. Lengths stay what they are.
 */
const HOOK = `#!/bin/sh
# Written by Allot. It refuses a push whose objects are too large when they are unpacked.
[ -n "$GIT_QUARANTINE_PATH" ] || exit 0
ask() {
  echo "$1" >&3
  read -r code sentence <&3
  [ "$code" = ${STORE_IT} ] && exit 0
  [ "$code" = ${CHECK_IT} ] && return
  echo "\${sentence:-the server has stopped: try again}" >&2
  exit 1
}
ask "$GIT_QUARANTINE_PATH"
alternates=$GIT_ALTERNATE_OBJECT_DIRECTORIES
unset GIT_ALTERNATE_OBJECT_DIRECTORIES
export GIT_NO_REPLACE_OBJECTS=1 LC_ALL=C
refuse='function refuse(why) { print why; isRefused = 1; exit 1 }
  function check(isWhole) { if (!isWhole) refuse("the objects of this push could not be checked: try again") }
  END { if (isRefused) exit 1 }'
objects() {
  git cat-file --batch-all-objects --unordered \\
    --batch-check='%(objecttype) %(objectsize) %(objectsize:disk) %(deltabase) %(objectname)' || echo failed
}

unpacked=$(objects | awk "$refuse"'
  BEGIN { push = ENVIRON["ALLOT_MAX_PUSH_SIZE"] + 0; max["tree"] = ${MAX_TREE}; max["commit"] = max["tag"] = ${MAX_TEXT} }
  { check($1 != "failed") }
  $1 != "blob" && $2 > max[$1] { refuse("the " $1 " " $5 " of this push is larger than " max[$1] " bytes") }
  { sum += ($4 ~ /^0+$/) ? $2 : $3 }
  push > 0 && (sum > push || $2 > push) { refuse("unpacked, this push ${EXCEEDS_SIZE} of " sprintf("%.0f", push) " bytes") }
  END { printf "%.0f", sum }
') || { echo "$unpacked" >&2; exit 1; }

# Shorter ones cannot have so many lines.
objects | awk '($1 == "commit" || $1 == "tag") && $2 > ${2 * MAX_HEADER_LINES} { print $5 }' |
  git cat-file --batch | tr '\\000' '\\001' | awk "$refuse"'
  left == 0 { id = $2 " " $1; left = $3 + 1; lines = 0; isHeader = 1; next }
  { left -= length($0) + 1 }
  $0 == "" { isHeader = 0 }
  isHeader && ++lines > ${MAX_HEADER_LINES} { refuse("the " id " of this push has more than ${MAX_HEADER_LINES} lines of headers") }
  END { check(left == 0) }
' >&2 || exit 1

# Shorter ones cannot have such a name.
objects | awk '$1 == "tree" && $2 > ${MAX_NAME} { print $5 }' |
  git cat-file --batch | tr '\\000\\n' '\\n\\001' | awk "$refuse"'
  {
    text = $0
    if (skip > length(text)) { left -= length(text) + 1; skip -= length(text) + 1; next }
    text = substr(text, skip + 1); left -= skip; skip = 0
    # The line feed after a tree, and the line before the next one.
    if (left == 1) { text = substr(text, 2); left = 0 }
    if (left == 0) {
      end = index(text, "\\001")
      if (end == 0) next
      split(substr(text, 1, end - 1), header, " ")
      left = header[3] + 1
      text = substr(text, end + 1)
    }
    # Mode and name, which end with the NUL, and 20 bytes of the id after it.
    name = length(text) - index(text, " ")
    if (name > ${MAX_NAME}) refuse("the tree " header[1] " of this push has a name of " name " bytes, and at most ${MAX_NAME} are possible")
    left -= length(text) + 1; skip = 20
  }
  END { check(left == 0) }
' >&2 || exit 1

while read -r old new ref; do
  case $new in *[!0]*) echo "$new" ;; esac
done | GIT_ALTERNATE_OBJECT_DIRECTORIES=$alternates git rev-list --objects --stdin --not --all | awk "$refuse"'
  length($0) > ${41 + MAX_PATH} { refuse("the path of " $1 " in this push has " length($0) - 41 " bytes, and at most ${MAX_PATH} are possible") }
' >&2 || exit 1

ask "$unpacked"
`

const HOOK_NAME = 'pre-receive'

/** Checks the objects of pushes. */
export class PushCheck {
  readonly #folder: string
  #isWritten = false
  /** Environment variables that the hook reads. */
  readonly env: Readonly<Record<string, string>>

  /**
   * @param directory of the repositories, for the hook
   * @param maxPushSize in bytes; undefined: only commits, trees and tags are limited
   */
  constructor(directory: string, maxPushSize: number | undefined) {
    this.#folder = join(directory, 'hooks')
    this.env = { ALLOT_MAX_PUSH_SIZE: String(maxPushSize ?? 0) }
  }

  /**
   * Settings that make git run the hook. Writes the hook at the first call, and when git would pass over it.
   * @throws AllotError misconfigured when git would pass over it nevertheless
   */
  async config(): Promise<readonly string[]> {
    const settings = [`core.hooksPath=${this.#folder}`]
    const hook = join(this.#folder, HOOK_NAME)
    // Git passes over a hook that is missing or not executable, and accepts every push.
    const refusal = () => access(hook, constants.X_OK).catch((error: Error) => error)
    if (this.#isWritten && (await refusal()) === undefined) return settings
    await writeHook(this.#folder)
    this.#isWritten = true
    const cause = await refusal()
    if (cause === undefined) return settings
    const message = 'pushes are refused: the server cannot run the program that checks them, as its log says'
    const reason = `${hook} is not executable: its file system is mounted with noexec, or the umask of the server takes the right`
    throw new AllotError('misconfigured', message, { cause: new Error(reason, { cause }) })
  }
}

/** Bytes of the objects of a push. */
export interface PushSize {
  /** On the disk. */
  readonly size: number
  /** Unpacked; a delta has its own size. */
  readonly unpackedSize: number
}

interface HookAnswers {
  /** Rejects with an AllotError, whose message is a sentence for the person. */
  store(push: PushSize): Promise<void>
  /** Called for any other error. */
  readonly onError: (error: Error) => void
}

/**
 * Answers the hook, which asks whether a push may be stored.
 * @param channel of the git that takes the push
 */
export const answerHook = (
  channel: Duplex,
  maxPushSize: number | undefined,
  { store, onError }: HookAnswers,
): void => {
  // git has ended. An interface passes on the errors of its input, and they would end the process.
  channel.on('error', () => undefined)
  const lines = createInterface({ input: channel }).on('error', () => undefined)
  const answer = async (quarantine: string, unpackedSize: number) => {
    const decided = renamePack(quarantine)
      .then(() => sizeOf(quarantine))
      .then((size) => store({ size, unpackedSize }))
    const text = await decided.then(
      () => String(STORE_IT),
      (error: Error) => `${REFUSE_IT} ${sentenceOf(error, onError).replaceAll(/\s+/g, ' ')}`,
    )
    channel.end(`${text}\n`)
  }
  lines.once('line', async (quarantine) => {
    const size = await smallSizeIn(quarantine, maxPushSize).catch(() => undefined)
    if (size !== undefined) return answer(quarantine, size)
    lines.once('line', (unpacked) => answer(quarantine, Number(unpacked)))
    channel.write(`${CHECK_IT}\n`)
  })
}

/**
 * Gives the pack of a push a random name, and removes its `.keep`. Git names a pack after its content, and
 * keeps a `.keep` beside that of a push until its references have changed. `git gc` first lists the packs
 * that it will delete, and then copies their unused objects, except those that a pack with a `.keep` has. If
 * a push stored a listed pack again in between, nothing was copied, and the pack was deleted. One with a
 * random name is not in the list. It needs no `.keep`, which would stay after a crash.
 * @param quarantine folder of the objects of the push, which git moves into the repository afterwards
 */
const renamePack = async (quarantine: string): Promise<void> => {
  const folder = join(quarantine, 'pack')
  const name = `pack-${randomBytes(20).toString('hex')}`
  for (const file of await readdir(folder).catch(ifMissing<string[]>([])))
    if (file.endsWith('.keep')) await rm(join(folder, file))
    else await rename(join(folder, file), join(folder, file.replace(/^pack-[0-9a-f]+/, name)))
}

// With these limits, the check takes some milliseconds at most.
const MAX_SMALL_OBJECTS = 256
/** Bytes of the objects of a push, when they are unpacked. */
const MAX_SMALL_SIZE = 1024 * 1024

/**
 * Checks the objects of a push that git has unpacked into a file for each. Their paths are taken for longer
 * than they are: each folder is below all others at worst.
 * @returns their bytes; undefined when the hook must check them
 * @throws Error for an object that is too large
 */
export const smallSizeIn = async (
  quarantine: string,
  maxPushSize = MAX_SMALL_SIZE,
): Promise<number | undefined> => {
  const entries = await readdir(quarantine, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => !entry.isDirectory())
  if (files.length > MAX_SMALL_OBJECTS) return undefined
  let [sum, path] = [0, 0]
  for (const { parentPath, name } of files) {
    if (!LOOSE_OBJECT.test(name) || (await stat(join(parentPath, name))).size > MAX_SMALL_SIZE)
      return undefined
    const deflated = await readFile(join(parentPath, name))
    const object = inflateSync(deflated, { maxOutputLength: MAX_SMALL_SIZE })
    const content = object.subarray(object.indexOf(0) + 1)
    sum += content.length
    path += pathBytesIn(object.toString('latin1', 0, 4), content)
    if (sum > Math.min(maxPushSize, MAX_SMALL_SIZE) || path > MAX_PATH) return undefined
  }
  return sum
}

/** Its id without the first two digits, which name its folder. */
const LOOSE_OBJECT = /^[0-9a-f]{38}$/

/** @returns infinity for what the hook refuses */
const pathBytesIn = (type: string, content: Buffer): number => {
  if (type === 'blob') return 0
  if (type !== 'tree') return hasLongHeader(content) ? Number.POSITIVE_INFINITY : 0
  let name = 0
  for (const { space, nul } of positionsIn(content)) name = Math.max(name, nul - space - 1)
  return name > MAX_NAME ? Number.POSITIVE_INFINITY : name + 1
}

const LINE_FEED = 10

/** Whether a commit or a tag has more lines of headers than it may have. */
const hasLongHeader = (content: Buffer): boolean => {
  let start = 0
  for (let lines = 0; lines <= MAX_HEADER_LINES; lines++) {
    const end = content.indexOf(LINE_FEED, start)
    // An empty line ends the headers.
    if (end <= start) return false
    start = end + 1
  }
  return true
}

const sentenceOf = (error: Error, onError: (error: Error) => void): string => {
  if (error instanceof AllotError) return error.message
  onError(error)
  return 'this push could not be checked: try again'
}

/**
 * Writes the hook by a rename: several servers may write it at the same time, while git runs the previous
 * one.
 */
const writeHook = async (folder: string): Promise<void> => {
  await makeFolder(folder)
  const unfinished = join(folder, `${HOOK_NAME}.${randomUUID()}`)
  await writeFile(unfinished, HOOK, { mode: 0o755 })
  await rename(unfinished, join(folder, HOOK_NAME))
}

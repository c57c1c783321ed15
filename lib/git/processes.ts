import { execFile } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { absentAs } from './disk.ts'
import type { GitProcess } from './process.ts'

const exec = promisify(execFile)

/** Milliseconds that a git has to end by itself, and between two looks whether it has. */
const [GRACE, LOOK] = [10_000, 50]

/** What no git finishes any more: objects that were on their way, and locks that nobody holds. */
const LEFT = /^objects\/(?:(?:tmp_objdir-|incoming-)[^/]*|(?:pack|[0-9a-f]{2})\/tmp_[^/]*)$|\.lock$|^gc\.pid$/

/** Only while nothing else works on the repository. @param pid of the git that did, which may have outlived its server */
export const recover = async (folder: string, pid: number | null): Promise<void> => {
  if (pid !== null) await end(folder, pid)
  const left = await readdir(folder, { recursive: true, withFileTypes: true }).catch(absentAs([]))
  for (const { parentPath, name } of left) {
    const path = join(parentPath, name)
    if (LEFT.test(relative(folder, path))) await rm(path, { recursive: true, force: true })
  }
}

/** A number may be another process's by now: it is ended when it works on this very folder. */
const end = async (folder: string, pid: number): Promise<void> => {
  const until = performance.now() + GRACE
  for (let signal: NodeJS.Signals = 'SIGTERM'; (await commandOf(pid)).includes(folder); await pause(LOOK)) {
    if (performance.now() > until) signal = 'SIGKILL'
    try {
      process.kill(-pid, signal)
    } catch {
      return
    }
  }
}

/** The words that a process was started with; empty when there is none of that number. */
const commandOf = async (pid: number): Promise<string> => {
  if (process.platform === 'linux')
    return readFile(`/proc/${pid}/cmdline`, 'utf8')
      .then((words) => words.replaceAll('\0', ' '))
      .catch(() => '')
  return exec('ps', ['-o', 'args=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  )
}

/** git's programs that work on a repository for long. */
export type Program = 'upload-pack' | 'receive-pack' | 'gc'

const changes = (program: Program): boolean => program !== 'upload-pack'

/** The gits that run just now, by the repositories that they work on. */
export interface Processes {
  /** Begins one; one that changes anything as soon as nothing mends the repository. @param folder of the repository */
  begin(id: number, folder: string, program: Program, start: () => Promise<GitProcess>): Promise<GitProcess>
  /** Removes what one that was stopped has left, as soon as no other changes anything. */
  tidied(id: number): Promise<void>
  /** Ends all that work on a repository. */
  stop(id: number): Promise<void>
  /** All that work on any, as they end. */
  endings(): Promise<unknown>[]
}

interface Place {
  readonly folder: string
  readonly sessions: Map<GitProcess, Program>
  /** Those that change something and are about to begin. */
  coming: number
  isLeft: boolean
  mending: Promise<void> | undefined
}

export const createProcesses = (): Processes => {
  const places = new Map<number, Place>()

  const placeOf = (id: number, folder: string): Place => {
    const place = places.get(id) ?? {
      folder,
      sessions: new Map(),
      coming: 0,
      isLeft: false,
      mending: undefined,
    }
    places.set(id, place)
    return place
  }
  const isChanging = ({ sessions, coming }: Place) => coming > 0 || [...sessions.values()].some(changes)
  const forget = (id: number, { sessions, coming, isLeft, mending }: Place) => {
    if (sessions.size + coming === 0 && !isLeft && mending === undefined) places.delete(id)
  }

  const add = (id: number, place: Place, program: Program, session: GitProcess) => {
    place.sessions.set(session, program)
    void session.ended.then(({ cause, code }) => {
      place.sessions.delete(session)
      // git removes most of it itself when it is asked to end, but not what its children still write.
      if (changes(program) && (cause !== 'itself' || code === null)) place.isLeft = true
      forget(id, place)
    })
  }

  return {
    async begin(id, folder, program, start) {
      const place = placeOf(id, folder)
      const coming = changes(program) ? 1 : 0
      place.coming += coming
      try {
        while (coming > 0 && place.mending !== undefined) await place.mending
        const session = await start()
        add(id, place, program, session)
        return session
      } finally {
        place.coming -= coming
        forget(id, place)
      }
    },
    async tidied(id) {
      const place = places.get(id)
      if (place === undefined || !place.isLeft || isChanging(place)) return
      place.isLeft = false
      place.mending = recover(place.folder, null)
      try {
        await place.mending
      } finally {
        place.mending = undefined
        forget(id, place)
      }
    },
    async stop(id) {
      const sessions = [...(places.get(id)?.sessions.keys() ?? [])]
      for (const session of sessions) session.stop()
      await Promise.all(sessions.map(({ ended }) => ended))
    },
    endings: () =>
      [...places.values()].flatMap(({ sessions }) => [...sessions.keys()].map(({ ended }) => ended)),
  }
}

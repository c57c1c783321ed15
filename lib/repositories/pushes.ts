import type { Readable } from 'node:stream'
import { AllotError } from '../errors.ts'
import type { RefUpdate } from '../git/push.ts'
import type { PushSize } from '../git/push-check.ts'
import type { PushListener, PushRequest, Transport } from '../git/transport.ts'
import type { BeforeStore, BytesToStore, CheckAgain } from '../quota/before-store.ts'
import type { Repository } from '../records/schema/index.ts'
import { gitUsage } from './asked-changes.ts'
import type { RepositoryMaintenance } from './maintenance.ts'
import type { PushJournal } from './push-journal.ts'

interface PushesOptions {
  readonly beforeStore: BeforeStore
  readonly pushJournal: PushJournal
  readonly transport: Transport
  /** Maintains repositories after pushes. */
  readonly maintenance: RepositoryMaintenance
  readonly onError: (error: unknown, fields: object) => void
}

/** Bytes of the file of a reference. */
const REF_BYTES = 41

/** {@link PushJournal.countAhead} of one push. */
type CountAhead = (bytes: number, check: CheckAgain) => Promise<void>

/** Who pushes, and how the push came. */
export interface PushSource {
  readonly id: number
  readonly via: BytesToStore['via']
  /** Whether a client pushes, or the API makes a commit or changes a reference. */
  readonly kind: 'push' | 'commit'
  /** Called when the host refuses it, besides git's report. */
  readonly onRefused?: (error: Error) => void
}

/** Serves fetches and pushes, whichever way the client connects. */
export interface GitServices {
  readonly transport: Transport
  readonly pushes: Pushes
}

/**
 * Pushes over HTTP and SSH, and commits that the API makes. Invariant: git's report reaches the client after
 * the new size is durable.
 */
export class Pushes {
  readonly #options: PushesOptions

  constructor(options: PushesOptions) {
    this.#options = options
  }

  /**
   * Takes a push that is authorized, and counts it.
   * @returns git's report
   * @throws AllotError bad_request, too_large, unavailable
   */
  receive(repository: Repository, source: PushSource, request: PushRequest): Promise<Readable> {
    const { id } = repository
    const { countAhead, ...listener } = this.#countingListener(id, source.id)
    const storing: PushListener['storing'] = (updates, size) =>
      this.#ask(repository, source, updates, size, countAhead).catch((error) => {
        source.onRefused?.(error)
        throw error
      })
    const isAsked = this.#options.beforeStore.isOn
    return this.#options.transport.receive(id, request, isAsked ? { ...listener, storing } : listener)
  }

  /**
   * Asks the host, and counts the bytes at once, so that a transfer or a change of the visibility which is
   * decided meanwhile includes them.
   */
  async #ask(
    { id: repository, owner, private: isPrivate }: Repository,
    { id: by, via, kind }: PushSource,
    updates: readonly RefUpdate[],
    { size: objects, unpackedSize }: PushSize,
    countAhead: CountAhead,
  ): Promise<void> {
    const created = updates.filter(({ before, after }) => before === null && after !== null)
    const size = objects + created.length * REF_BYTES
    const change = gitUsage(isPrivate, size)
    const storing = { owner, change, by, repository, kind, unpackedSize, via }
    const checkAgain = await this.#options.beforeStore.ask(storing)
    if (checkAgain !== undefined) await countAhead(size, checkAgain)
  }

  /** Counts the repository after git has changed it, and has it maintained. */
  #countingListener(id: number, by: number): PushListener & { readonly countAhead: CountAhead } {
    const { pushJournal, maintenance, onError } = this.#options
    let entry: number
    return {
      ready: (signal) => pushJournal.ready(id, signal),
      async started(pid, updates) {
        entry = await pushJournal.begin(id, pid, updates && { by, updates })
      },
      countAhead: (bytes, check) => pushJournal.countAhead(entry, id, bytes, check),
      async finished(updates, end) {
        const push = updates.length > 0 ? { by, updates } : undefined
        const repository = await pushJournal.settle(entry, id, { push, ...end }).catch((error) => {
          onError(error, { repository: id })
          throw new AllotError(
            'unavailable',
            updates.length === 0
              ? 'no branch or tag has changed, and the size of the repository could not be counted: try again'
              : 'git has stored the push, but its size could not be counted yet: it is counted with the next push, or after the server starts again',
          )
        })
        if (repository === undefined) throw new AllotError('not_found', 'the repository was deleted')
        maintenance.begin(repository)
      },
    }
  }
}

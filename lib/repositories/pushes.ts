import type { Readable } from 'node:stream'
import type { Accounts } from '../accounts/accounts.ts'
import { AllotError } from '../errors.ts'
import type { PushListener, PushRequest, Transport } from '../git/transport.ts'
import type { Repository } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { Push, PushJournal } from './push-journal.ts'

interface PushesOptions {
  readonly accounts: Accounts
  readonly pushJournal: PushJournal
  readonly transport: Transport
  /** Maintains repositories after pushes. */
  readonly maintenance: RepositoryMaintenance
  /** Notifies the host of a push that is counted. */
  readonly onPush: (push: Push) => void
  readonly onError: (error: unknown, fields: object) => void
}

/** Serves fetches and pushes, whichever way the client connects. */
export interface GitServices {
  readonly transport: Transport
  readonly pushes: Pushes
}

/** Pushes over HTTP and SSH. Invariant: git's report reaches the client after the new size is durable. */
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
  receive(
    { id }: Repository,
    { id: by, username }: { readonly id: number; readonly username: string },
    request: PushRequest,
  ): Promise<Readable> {
    const listener = this.#countingListener(id, by, async (counted, updates) => {
      if (updates.length > 0) await this.#notify(counted, username, updates)
      this.#options.maintenance.afterChange(counted)
    })
    return this.#options.transport.receive(id, request, listener)
  }

  /** Counts the repository after git has changed it. @param onCounted called once the new size is durable */
  #countingListener(
    id: number,
    by: number,
    onCounted: (repository: Repository, updates: Push['updates']) => Promise<void>,
  ): PushListener {
    const { pushJournal, onError } = this.#options
    let entry: number
    let isCounted = false
    return {
      async started(pid, updates) {
        entry = await pushJournal.begin(id, pid, updates && { by, updates })
      },
      async finished(updates, isRecovered) {
        const push = updates.length > 0 ? { by, updates } : undefined
        const repository = await pushJournal.settle(entry, id, push, isRecovered).catch((error) => {
          onError(error, { repository: id })
          throw new AllotError(
            'unavailable',
            updates.length === 0
              ? 'no branch or tag has changed, and the size of the repository could not be counted: try again'
              : 'git has stored the push, but its size could not be counted yet: it is counted with the next push, or after the server starts again',
          )
        })
        isCounted = true
        if (repository === undefined) throw new AllotError('not_found', 'the repository was deleted')
        await onCounted(repository, updates)
      },
      async recovered() {
        // Until a push is counted, its entry has its events.
        if (isCounted) await pushJournal.settle(entry, id)
      },
    }
  }

  async #notify(
    { id, owner, name, size }: Repository,
    pusher: string,
    updates: Push['updates'],
  ): Promise<void> {
    const account = await this.#options.accounts.byId(owner)
    this.#options.onPush({ repository: `${account?.name}/${name}`, repositoryId: id, pusher, updates, size })
  }
}

interface MaintenanceOptions {
  readonly store: Store
  readonly transport: Transport
  readonly pushJournal: PushJournal
  readonly onError: (error: unknown, fields: object) => void
}

/**
 * Maintains repositories in the background (`Maintenance` in lib/git), and counts what that changes: after a push or a fork, and
 * after the first search of a history, since repositories also come from imports, migrations and former versions.
 */
export class RepositoryMaintenance {
  readonly #options: MaintenanceOptions

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  /** Begins the maintenance that a repository needs after a push, or as a new copy. */
  afterChange(repository: Repository): void {
    this.#begin(repository)
  }

  /** Begins the maintenance that makes searches of a history faster, if the repository lacks it. */
  afterSearch(repository: Repository): void {
    const { store, transport } = this.#options
    // A search is part of a read of the store, and maintenance writes.
    if (transport.mayLackGraph(repository.id, repository.size))
      store.runOutside(() => this.#begin(repository))
  }

  #begin({ id, size }: Repository): void {
    const { transport, pushJournal, onError } = this.#options
    let entry: number
    const listener = {
      async started(pid: number) {
        entry = await pushJournal.begin(id, pid)
      },
      async finished(isRecovered: boolean) {
        await pushJournal.settle(entry, id, undefined, isRecovered)
      },
      async recovered() {
        await pushJournal.settle(entry, id)
      },
    }
    transport.maintain(id, size, listener).catch((error) => onError(error, { repository: id }))
  }
}

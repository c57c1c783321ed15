import type { MaintenanceScope } from '../git/maintenance.ts'
import type { Transport } from '../git/transport.ts'
import type { Repository } from '../records/schema/index.ts'
import type { PushJournal } from './push-journal.ts'

interface MaintenanceOptions {
  readonly transport: Transport
  readonly pushJournal: PushJournal
  readonly onError: (error: unknown, fields: object) => void
}

/**
 * Maintains repositories in the background (`Maintenance` in lib/git), and counts what that changes: after a
 * push or a fork, and after the first search of a history, since repositories also come from imports,
 * migrations and former versions.
 */
export class RepositoryMaintenance {
  readonly #options: MaintenanceOptions

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  /** Begins the maintenance that a repository needs after a push, or as a new copy. */
  afterChange(repository: Repository): void {
    this.#begin(repository, 'all')
  }

  /** Begins the maintenance that makes searches of a history faster, if the repository lacks it. */
  afterSearch(repository: Repository): void {
    if (this.#options.transport.mayLackGraph(repository.id, repository.size)) this.#begin(repository, 'graph')
  }

  #begin({ id, size }: Repository, scope: MaintenanceScope): void {
    const { transport, pushJournal, onError } = this.#options
    let entry: number
    const listener = {
      async started(pid: number) {
        entry = await pushJournal.begin(id, pid)
      },
      async finished(isCleaned: boolean) {
        await pushJournal.settle(entry, id, { isCleaned })
      },
      async cleaned() {
        await pushJournal.settle(entry, id)
      },
    }
    transport.maintain(id, size, scope, listener).catch((error) => onError(error, { repository: id }))
  }
}

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

  /** Begins the maintenance that a repository needs. */
  begin({ id, size }: Repository): void {
    const { transport, pushJournal, onError } = this.#options
    let entry: number
    const listener = {
      async started(pid: number) {
        entry = await pushJournal.begin(id, pid)
      },
      async finished(isCleaned: boolean) {
        await pushJournal.settle(entry, id, { isCleaned })
      },
    }
    transport.maintain(id, size, listener).catch((error) => onError(error, { repository: id }))
  }
}

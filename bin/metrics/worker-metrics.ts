import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'

/**
 * Metrics of several workers. A request for metrics reaches any one worker, which asks the supervisor for the sums:
 *
 *   worker ── request {id} ──> supervisor ── collect {id} ──> all workers
 *   worker <── response {id} ── supervisor <── collected {id} ── all workers
 *
 * `id` numbers the requests of one worker, and the collections of the supervisor.
 */
type Message =
  | { metrics: 'request'; id: number }
  | { metrics: 'collect'; id: number }
  | { metrics: 'collected'; id: number; values: Values }
  | { metrics: 'response'; id: number; text: string }

type Values = MetricObjectWithValues<MetricValue<string>>[]

const messageIn = (message: unknown): Message | undefined =>
  typeof message === 'object' && message !== null && 'metrics' in message ? (message as Message) : undefined

const sendTo = (worker: Worker, message: Message): void => {
  if (worker.isConnected()) worker.send(message)
}

interface Collection {
  /** Workers that have not answered yet. */
  waitingFor: Set<Worker>
  values: Values[]
  finish: () => void
}

/** How long a worker may take to answer; then its values are left out. */
const COLLECT_TIMEOUT_MS = 2000

/** In the supervisor: answers the requests of workers. */
export const aggregateWorkers = (): void => {
  // A worker that has not started to serve could not answer.
  const serving = new Set<Worker>()
  const collections = new Map<number, Collection>()
  let lastId = 0

  const collect = (requester: Worker, requestId: number): void => {
    const id = ++lastId
    const timer = setTimeout(() => collection.finish(), COLLECT_TIMEOUT_MS)
    const collection: Collection = {
      waitingFor: new Set(serving),
      values: [],
      finish() {
        if (!collections.delete(id)) return
        clearTimeout(timer)
        void AggregatorRegistry.aggregate(collection.values)
          .metrics()
          .then((text) => sendTo(requester, { metrics: 'response', id: requestId, text }))
      },
    }
    collections.set(id, collection)
    for (const worker of serving) sendTo(worker, { metrics: 'collect', id })
  }

  const settle = (worker: Worker, id: number, values?: Values): void => {
    const collection = collections.get(id)
    if (values !== undefined) collection?.values.push(values)
    if (collection?.waitingFor.delete(worker) && collection.waitingFor.size === 0) collection.finish()
  }

  cluster.on('message', (worker, received: unknown) => {
    const message = messageIn(received)
    // The only other message of a worker says that it serves.
    if (message === undefined) serving.add(worker)
    else if (message.metrics === 'request') collect(worker, message.id)
    else if (message.metrics === 'collected') settle(worker, message.id, message.values)
  })
  cluster.on('exit', (worker) => {
    serving.delete(worker)
    for (const id of collections.keys()) settle(worker, id)
  })
}

/** In a worker: @returns reads the sums over all workers, in the text format of Prometheus */
export const workerMetrics = (registry: Registry): (() => Promise<string>) => {
  const requests = new Map<number, (text: string) => void>()
  let lastId = 0
  const send = (message: Message) => void process.send?.(message)
  process.on('message', (received) => {
    const message = messageIn(received)
    if (message?.metrics === 'collect')
      void registry
        .getMetricsAsJSON()
        .then((values) => send({ metrics: 'collected', id: message.id, values: values as Values }))
    if (message?.metrics === 'response') {
      requests.get(message.id)?.(message.text)
      requests.delete(message.id)
    }
  })
  return () =>
    new Promise((resolve) => {
      const id = ++lastId
      requests.set(id, resolve)
      send({ metrics: 'request', id })
    })
}

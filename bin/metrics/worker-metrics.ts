import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, register } from 'prom-client'

/**
 * Metrics of several workers. A request for metrics reaches any one worker, which asks the supervisor for the
 * sums; the supervisor asks all workers for their values. Both use the same pair of messages.
 */

interface Message {
  metrics: 'request' | 'response'
  /** Numbers the requests of one process. */
  id: number
  body?: unknown
}

type Values = MetricObjectWithValues<MetricValue<string>>[]

const isMessage = (message: unknown): message is Message =>
  typeof message === 'object' && message !== null && 'metrics' in message

/** How long a worker may take to answer. */
const COLLECT_TIMEOUT_MS = 2000

let lastId = 0

/**
 * Asks the process at the other end of a channel.
 * @returns undefined when it fails, ends or takes too long
 */
const ask = <T>(channel: Worker, timeoutMs: number): Promise<T | undefined> =>
  new Promise((resolve) => {
    const id = ++lastId
    const finish = (body?: T) => {
      clearTimeout(timer)
      channel.off('message', receive).off('disconnect', finish)
      resolve(body)
    }
    const receive = (message: unknown) => {
      if (isMessage(message) && message.metrics === 'response' && message.id === id) finish(message.body as T)
    }
    const timer = setTimeout(finish, timeoutMs)
    channel.on('message', receive).on('disconnect', finish)
    send(channel, { metrics: 'request', id })
  })

const send = (channel: Worker, message: Message): void => {
  if (channel.isConnected()) channel.send(message)
}

/** Answers the requests of the process at the other end of a channel. */
const answer = (channel: Worker, read: () => Promise<unknown>): void =>
  void channel.on('message', async (message: unknown) => {
    if (!isMessage(message) || message.metrics !== 'request') return
    const body = await read().catch(() => undefined)
    send(channel, { metrics: 'response', id: message.id, body })
  })

/**
 * Makes the supervisor answer workers with the sums over all of them. A worker that does not answer in time
 * counts with its last values: otherwise a sum would fall, which Prometheus takes for a restart.
 */
export const aggregateWorkers = (): void => {
  const serving = new Map<Worker, Values>()
  const readSums = async () => {
    const workers = [...serving.keys()]
    const read = async (worker: Worker) => {
      const values = await ask<Values>(worker, COLLECT_TIMEOUT_MS)
      if (values !== undefined && serving.has(worker)) serving.set(worker, values)
      return values ?? serving.get(worker) ?? []
    }
    return AggregatorRegistry.aggregate(await Promise.all(workers.map(read))).metrics()
  }
  cluster.on('fork', (worker) => answer(worker, readSums))
  // A worker that has not started to serve could not answer. The only other message of a worker says that it
  // serves.
  cluster.on('message', (worker, message: unknown) => void (isMessage(message) || serving.set(worker, [])))
  cluster.on('exit', (worker) => void serving.delete(worker))
}

/** @returns a function for a worker that reads the sums over all workers, in the text format of Prometheus */
export const workerMetrics = (): (() => Promise<string>) => {
  const supervisor = cluster.worker!
  answer(supervisor, () => register.getMetricsAsJSON())
  return async () => {
    const text = await ask<string>(supervisor, 2 * COLLECT_TIMEOUT_MS)
    if (text === undefined) throw new Error('the supervisor does not answer')
    return text
  }
}

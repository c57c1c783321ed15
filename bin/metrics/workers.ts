import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, type Registry } from 'prom-client'

interface Question {
  allot: 'metrics'
  id: number
}
interface Answer extends Question {
  text?: string
}

const isOurs = (message: unknown): message is Answer =>
  typeof message === 'object' && message !== null && (message as Partial<Question>).allot === 'metrics'

/** Whoever keeps the workers adds up what they have counted: a request for metrics comes to any one of them. */
export const addUpForWorkers = (): void => {
  const all = new AggregatorRegistry()
  cluster.on('message', (worker: Worker, message: unknown) => {
    if (!isOurs(message)) return
    const answer = (found: { text?: string }) => worker.isConnected() && worker.send({ ...message, ...found })
    all.clusterMetrics().then(
      (text) => answer({ text }),
      () => answer({}),
    )
  })
}

/** What all workers have counted, as one of them asks for it. */
export const countedByAll = (registry: Registry): (() => Promise<string>) => {
  AggregatorRegistry.setRegistries(registry)
  // It answers for this worker whenever somebody adds up.
  new AggregatorRegistry()
  let last = 0
  const waiting = new Map<number, (text: string | undefined) => void>()
  process.on('message', (message) => {
    if (isOurs(message)) waiting.get(message.id)?.(message.text)
  })
  return async () => {
    const id = ++last
    const text = await new Promise<string | undefined>((resolve) => {
      waiting.set(id, resolve)
      process.send!({ allot: 'metrics', id } satisfies Question)
    })
    waiting.delete(id)
    if (text === undefined) throw new Error('a worker did not tell what it has counted')
    return text
  }
}

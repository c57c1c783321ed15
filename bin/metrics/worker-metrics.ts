import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'

type Counted = MetricObjectWithValues<MetricValue<string>>[]

/** What a worker and whoever keeps it say to each other; `id` is that of the round, or of whoever asked for it. */
type Message =
  | { metrics: 'ask'; id: number }
  | { metrics: 'tell'; id: number }
  | { metrics: 'told'; id: number; counted: Counted }
  | { metrics: 'answer'; id: number; text: string }

const messageIn = (message: unknown): Message | undefined =>
  typeof message === 'object' && message !== null && 'metrics' in message ? (message as Message) : undefined

interface Round {
  left: Set<Worker>
  counted: Counted[]
  end: () => void
}

/** Milliseconds that a worker has to tell; what one that hangs has counted is then left out. */
const TIMEOUTS = 2000

/** Whoever keeps the workers adds up what they have counted, for a request for metrics comes to any one of them. */
export const aggregateWorkers = (): void => {
  // One that has only just begun could not tell.
  const serving = new Set<Worker>()
  const rounds = new Map<number, Round>()
  let last = 0

  const ask = (sender: Worker, id: number): void => {
    const number = ++last
    const late = setTimeout(() => round.end(), TIMEOUTS)
    const round: Round = {
      left: new Set(serving),
      counted: [],
      end() {
        if (!rounds.delete(number)) return
        clearTimeout(late)
        void AggregatorRegistry.aggregate(round.counted)
          .metrics()
          .then((text) => say(sender, { metrics: 'answer', id, text }))
      },
    }
    rounds.set(number, round)
    for (const worker of serving) say(worker, { metrics: 'tell', id: number })
  }

  const hear = (worker: Worker, id: number, counted?: Counted): void => {
    const round = rounds.get(id)
    if (counted !== undefined) round?.counted.push(counted)
    if (round?.left.delete(worker) && round.left.size === 0) round.end()
  }

  cluster.on('message', (worker, said: unknown) => {
    const message = messageIn(said)
    if (message === undefined) serving.add(worker)
    else if (message.metrics === 'ask') ask(worker, message.id)
    else if (message.metrics === 'told') hear(worker, message.id, message.counted)
  })
  cluster.on('exit', (worker) => {
    serving.delete(worker)
    for (const id of rounds.keys()) hear(worker, id)
  })
}

const say = (worker: Worker, message: Message): void => {
  if (worker.isConnected()) worker.send(message)
}

/** What all workers have counted, as one of them asks for it. */
export const workerMetrics = (registry: Registry): (() => Promise<string>) => {
  let last = 0
  const waiting = new Map<number, (text: string) => void>()
  const send = (message: Message) => void process.send?.(message)
  process.on('message', (said) => {
    const message = messageIn(said)
    if (message?.metrics === 'tell')
      void registry
        .getMetricsAsJSON()
        .then((counted) => send({ metrics: 'told', id: message.id, counted: counted as Counted }))
    if (message?.metrics === 'answer') waiting.get(message.id)?.(message.text)
  })
  return async () => {
    const id = ++last
    const text = await new Promise<string>((resolve) => {
      waiting.set(id, resolve)
      send({ metrics: 'ask', id })
    })
    waiting.delete(id)
    return text
  }
}

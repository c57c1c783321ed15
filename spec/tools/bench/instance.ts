import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HtmlRenderer, Parser } from 'commonmark'
import { withProgressBar } from '../../../bin/terminal.ts'
import { fill, INSTANCE, type Shape } from './filled.ts'
import { atLeast, type Bench, inTurns, type Measurement } from './report/measure.ts'
import { type Hosted, host } from './servers/index.ts'
import { type Load, loadWith, local } from './servers/load.ts'

const API = '/api/v1'

/** A tenth of {@link INSTANCE}, unless the whole is asked for. */
export const scaled = (scale: number): Shape => ({
  people: Math.round(INSTANCE.people * scale),
  repos: Math.round(INSTANCE.repos * scale),
  entries: Math.round(INSTANCE.entries * scale),
  stars: Math.round(INSTANCE.stars * scale),
})

const LOADS_PER_ROUND = 2

const rate = async (load: Load): Promise<number> => (await loadWith(load)).rate

const besideFastify = async (served: Hosted, rounds: number): Promise<Measurement> => {
  const token = served.told.largest
  const [value, reference] = (await inTurns(rounds * LOADS_PER_ROUND, [
    () => rate({ base: local(served.port), path: `${API}/user/quota`, tokens: [token] }),
    () => rate({ base: local(served.port), path: '/fastify/quota', tokens: [token] }),
  ])) as [number, number]
  return {
    ...{ name: '`GET /user/quota`', value, reference, unit: 'requests/s' },
    against: 'Fastify with a map of tokens and the quota in process',
  }
}

/** The owner of the most against the one of the least. */
const flat = async (served: Hosted, rounds: number): Promise<Measurement[]> => {
  const measured: Measurement[] = []
  for (const path of ['/user/quota', '/user/quota/artifacts?limit=20']) {
    const [value, reference] = (await inTurns(rounds * LOADS_PER_ROUND, [
      () => rate({ base: local(served.port), path: API + path, tokens: [served.told.largest] }),
      () => rate({ base: local(served.port), path: API + path, tokens: [served.told.smallest] }),
    ])) as [number, number]
    measured.push({
      ...{ name: `\`GET ${path}\` of the largest owner`, value, reference, unit: 'requests/s' },
      against: 'of the smallest',
    })
  }
  return measured
}

/** 4 KiB of what people write. */
const TEXT =
  `${'# A title\n\nSome *words*, a [link](https://example.test/a) and `code`.\n\n- one\n- two\n\n'.repeat(64)}`.slice(
    0,
    4096,
  )

const markdown = async (served: Hosted, rounds: number): Promise<Measurement> => {
  const token = served.told.largest
  const [parser, renderer] = [new Parser(), new HtmlRenderer()]
  const alone = async () => {
    const begun = performance.now()
    let texts = 0
    for (; performance.now() - begun < 1000; texts++) renderer.render(parser.parse(TEXT))
    return (texts / (performance.now() - begun)) * 1000
  }
  const body = JSON.stringify({ Text: TEXT, Mode: 'markdown' })
  const requests = [{ method: 'POST' as const, path: `${API}/markdown`, body }]
  const [value, reference] = (await inTurns(rounds, [
    () => rate({ base: local(served.port), path: '/', tokens: [token], requests }),
    alone,
  ])) as [number, number]
  return {
    ...{
      name: '`POST /markdown` of 4 KiB',
      value,
      reference,
      unit: 'requests/s',
      against: 'commonmark alone',
    },
    ...atLeast(0.8, value / reference),
  }
}

/** Words that few and that many repositories have in their names. */
export const WORDS = [
  ...['ratomi', 'kel', 'sunvor', 'gu', 'ra', 'rarara', 'r', '77', '4242', 'lan', 'denden', 'zzz'],
  'tokelra-',
]

/**
 * How large the filled instances are, and where they are kept between runs: the largest takes minutes to
 * make.
 */
export interface Instances {
  /** 1 for a hundred thousand users, a million repositories and ten million ledger entries. */
  readonly scale: number
  readonly folder: string
}

/** @returns the folder of a store of that shape, which is filled unless an earlier run has done so */
export const filledStore = async (instances: string, shape: Shape): Promise<string> => {
  const folder = join(instances, `instance-${shape.repos}`)
  const mark = join(folder, 'filled')
  try {
    readFileSync(mark)
  } catch {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await withProgressBar('filling an instance', (onProgress) =>
      fill(join(folder, 'store'), shape, (done, total) => onProgress({ done, total })),
    )
    writeFileSync(mark, '')
  }
  return join(folder, 'store')
}

export const instanceOf = ({ scale, folder }: Instances): Bench => ({
  name: 'instance',
  sendsLoad: true,
  async run({ rounds, say }) {
    const shape = scaled(scale)
    say(
      `an instance of ${shape.repos.toLocaleString('en')} repositories and ${shape.entries.toLocaleString('en')} ledger entries`,
    )
    const store = await filledStore(folder, shape)
    const served = await host('instance', store, String(shape.people))
    try {
      const measured = [await besideFastify(served, rounds), ...(await flat(served, rounds))]
      say('rendering')
      measured.push(await markdown(served, rounds))
      return measured
    } finally {
      await served.stop()
    }
  },
})

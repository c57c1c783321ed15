/** Shows how far something has come: on a terminal only, for it is for people. */
export interface Bar {
  told(progress: { done: number; total: number }): void
  stop(): void
}

/**
 * @param doing such as `recounting`
 * @param measure how far it has come, in the words of cli-progress
 */
export const barOf = async (
  doing: string,
  measure = '{bar} {percentage} % of about {total}',
): Promise<Bar> => {
  if (process.stderr.isTTY !== true) return { told: () => undefined, stop: () => undefined }
  const { SingleBar } = await import('cli-progress')
  const bar = new SingleBar({
    format: `${doing} ${measure}, {duration_formatted}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
  })
  bar.start(1, 0)
  return {
    told({ done, total }) {
      bar.setTotal(total)
      bar.update(done)
    },
    stop: () => bar.stop(),
  }
}

/** Shows the bar while the work goes on. */
export const withBar = async <T>(bar: Promise<Bar>, work: (told: Bar['told']) => Promise<T>): Promise<T> => {
  const { told, stop } = await bar
  try {
    return await work(told)
  } finally {
    stop()
  }
}

/** Shows how far something has come: on a terminal only, for it is for people. */
export interface Bar {
  told(progress: { done: number; total: number }): void
  stop(): void
}

/** @param doing such as `recounting` */
export const barOf = async (doing: string): Promise<Bar> => {
  if (process.stderr.isTTY !== true) return { told: () => undefined, stop: () => undefined }
  const { SingleBar } = await import('cli-progress')
  const bar = new SingleBar({
    format: `${doing} {bar} {percentage} % of about {total}, {duration_formatted}`,
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

/** Shows how far something has come: on a terminal only, for it is for people. */
export interface ProgressBar {
  onProgress(progress: { done: number; total: number }): void
  stop(): void
}

/**
 * @param doing such as `recounting`
 * @param measure how far it has come, in the words of cli-progress
 */
export const createProgressBar = async (
  doing: string,
  measure = '{bar} {percentage} % of about {total}',
): Promise<ProgressBar> => {
  if (process.stderr.isTTY !== true) return { onProgress: () => undefined, stop: () => undefined }
  const { SingleBar } = await import('cli-progress')
  const progressBar = new SingleBar({
    format: `${doing} ${measure}, {duration_formatted}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
  })
  progressBar.start(1, 0)
  return {
    onProgress({ done, total }) {
      progressBar.setTotal(total)
      progressBar.update(done)
    },
    stop: () => progressBar.stop(),
  }
}

/** Shows the bar while the work goes on. */
export const withProgressBar = async <T>(
  progressBar: Promise<ProgressBar>,
  work: (told: ProgressBar['onProgress']) => Promise<T>,
): Promise<T> => {
  const { onProgress, stop } = await progressBar
  try {
    return await work(onProgress)
  } finally {
    stop()
  }
}

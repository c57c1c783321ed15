export type OnProgress = (progress: { done: number; total: number }) => void

/**
 * Runs a function and shows its progress on standard error when that is a terminal.
 * @param label such as `exporting`
 * @param format the measure that follows the label, with the placeholders of cli-progress
 */
export const withProgressBar = async <T>(
  label: string,
  body: (onProgress: OnProgress) => Promise<T>,
  format = '{bar} {percentage} % of about {total}',
): Promise<T> => {
  if (process.stderr.isTTY !== true) return body(() => undefined)
  const { SingleBar } = await import('cli-progress')
  const bar = new SingleBar({
    format: `${label} ${format}, {duration_formatted}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
  })
  bar.start(1, 0)
  try {
    return await body(({ done, total }) => {
      bar.setTotal(total)
      bar.update(done)
    })
  } finally {
    bar.stop()
  }
}

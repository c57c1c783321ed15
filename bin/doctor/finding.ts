/** The result of one check. */
export interface Finding {
  check: string
  status: 'ok' | 'warning' | 'failed'
  /** The finding, with advice unless it is ok. */
  message: string
}

/** A finding of a check, by its status. */
export const finding = (check: string, status: Finding['status'], message: string): Finding => ({
  check,
  status,
  message,
})

/** The result of one check. */
export interface Finding {
  check: string
  status: 'ok' | 'warning' | 'failed'
  /** The finding, with advice unless it is ok. */
  message: string
}

/** What a check finds. `check` names another one that it belongs to. */
export type Outcome = Pick<Finding, 'status' | 'message'> & Partial<Pick<Finding, 'check'>>

export const ok = (message: string): Outcome => ({ status: 'ok', message })
export const warning = (message: string): Outcome => ({ status: 'warning', message })
export const failed = (message: string): Outcome => ({ status: 'failed', message })

/** A check by its name. An error that it throws is its failure. */
export type Check = readonly [name: string, run: () => Promise<Outcome | Outcome[]> | Outcome | Outcome[]]

export const runCheck = async ([check, run]: Check): Promise<Finding[]> => {
  try {
    const outcomes = await run()
    return [outcomes].flat().map((outcome) => ({ check, ...outcome }))
  } catch (error) {
    return [{ check, ...failed((error as Error).message) }]
  }
}

/** Ends the tracking of promises by the test runner, once all files are loaded. */
export const endTracking: () => void

/** The client went away: there is nobody to answer. */
export class ClientDisconnected extends Error {}

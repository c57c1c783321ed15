/** What all contents of repositories and accounts share. */
import type { RepositoryServices } from '../repositories/repositories.ts'

/** The services that the contents of repositories and accounts need. */
export type ContentServices = RepositoryServices

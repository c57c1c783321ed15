import { replay } from './replay.ts'

replay('paging')

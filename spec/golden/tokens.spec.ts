import { replay } from './replay.ts'

replay('tokens')

export { createHosting, type Hosting } from './create.ts'

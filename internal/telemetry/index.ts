// Public.
export { createSilentLogger, type LogFields, type Logger } from './logger.ts';
export { openPinoLogger } from './pino-logger.ts';

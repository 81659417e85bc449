export * from './doors.module.js';

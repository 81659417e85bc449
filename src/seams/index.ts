export * from './seam.js';

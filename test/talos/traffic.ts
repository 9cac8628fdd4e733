// Real clusters get the traffic that the demo's lab gets.
export * from '../../internal/lab/demo/traffic.ts';
